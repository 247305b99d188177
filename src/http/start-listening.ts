// One attempt of a server to listen, wherever that is.
import type { Server } from 'node:net';

/** Connections that wait to be accepted; the kernel may allow fewer. It resets what comes beyond it, before anybody can answer. */
export const BACKLOG = 4_096;

/** Resolves when the server listens after `listen` was called, and rejects with the error of the server. */
export function startListening(server: Server, listen: () => void): Promise<void> {
  return new Promise((resolve, reject) => {
    const onListening = () => {
      server.off('error', onError);
      resolve();
    };
    const onError = (error: Error) => {
      server.off('listening', onListening);
      reject(error);
    };
    server.once('listening', onListening);
    server.once('error', onError);
    listen();
  });
}
