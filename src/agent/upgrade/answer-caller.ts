// Answers the caller of an upgrade, whose connection the former image of this process has left open.
import { Socket } from 'node:net';
import type { UpgradeResponse } from '../../contract/upgrade.ts';

/** @param fd of the connection, which is closed with the answer. */
export function answerCaller(fd: number, answer: UpgradeResponse): void {
  const socket = new Socket({ fd, readable: false, writable: true });
  // The caller may be gone.
  socket.on('error', () => socket.destroy());
  const body = JSON.stringify(answer);
  const head = [
    'HTTP/1.1 200 OK',
    'content-type: application/json; charset=utf-8',
    `content-length: ${Buffer.byteLength(body)}`,
    'connection: close',
  ];
  socket.write(`${head.join('\r\n')}\r\n\r\n${body}`);
  socket.destroySoon();
}
