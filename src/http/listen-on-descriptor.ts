// Opens a listener on a descriptor that another process handed over.
import type { Server } from 'node:http';
import { ListenError } from './listen-error.ts';
import { BACKLOG, startListening } from './start-listening.ts';

/**
 * Listens on an inherited descriptor (systemd socket activation). The file stays: it belongs to the process that handed it
 * over.
 */
export async function listenOnDescriptor(server: Server, fd: number): Promise<void> {
  try {
    await startListening(server, () => server.listen({ fd }, BACKLOG));
  } catch (cause) {
    throw new ListenError('bad_descriptor', `descriptor ${fd} was handed over but is not a listening socket`, {
      cause,
    });
  }
}
