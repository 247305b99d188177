// What a WebSocket brings, written to a connection here.
import type { Socket } from 'node:net';
import type { WebSocket } from 'ws';

/** The WebSocket is paused while the client does not read. What comes after the connection has been closed is dropped. */
export function deliverFrames(socket: WebSocket, local: Socket): void {
  const resume = () => socket.resume();
  local.on('drain', resume).once('close', resume);
  socket.on('message', (data: Buffer) => {
    if (local.writable && !local.write(data)) socket.pause();
  });
}
