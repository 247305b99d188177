// The body of a request as the standard input of a process: in frames, as fast as the process takes them.
import type { IncomingMessage } from 'node:http';
import type { WebSocket } from 'ws';
import { execFrame } from '../contract/processes.ts';

const AHEAD_BYTES = 256 * 1024;
const STDIN = Buffer.from([execFrame.stdin]);
const END = Buffer.from([execFrame.endOfStdin]);

export function sendInput(request: IncomingMessage, socket: WebSocket): void {
  request.on('error', () => undefined);
  request.on('data', (bytes: Buffer) => {
    socket.send(Buffer.concat([STDIN, bytes]), () => {
      if (request.isPaused() && socket.bufferedAmount <= AHEAD_BYTES) request.resume();
    });
    if (socket.bufferedAmount > AHEAD_BYTES) request.pause();
  });
  request.once('end', () => {
    if (socket.readyState === socket.OPEN) socket.send(END);
  });
}
