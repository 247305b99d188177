// A listener whose queue is full and whose process stands still: the kernel drops what else wants to connect, as a firewall would.
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';
import { startChild } from './child-lines.ts';

const program =
  "require('node:net').createServer().listen({ port: 0, host: '127.0.0.1', backlog: 1 }, function () { console.log(this.address().port) })";
const PROBE_MS = 300;
const FILL_MAX = 16;

/** Its address, once a connection is not taken any more. */
export async function openFullListener(): Promise<string> {
  const child = startChild(process.execPath, ['-e', program]);
  const sockets: Socket[] = [];
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
  });
  const port = Number(await child.line(/^\d+$/));
  child.process.kill('SIGSTOP');
  for (let count = 0; count < FILL_MAX; count += 1) {
    const socket = connect(port, '127.0.0.1');
    socket.on('error', () => undefined);
    sockets.push(socket);
    // The turn after that brings a connection that was made while this process stood still.
    const waited = new Promise<'full'>((resolve) => setTimeout(() => setImmediate(resolve, 'full'), PROBE_MS));
    if ((await Promise.race([once(socket, 'connect'), waited])) === 'full') return `http://127.0.0.1:${port}`;
  }
  throw new Error('the queue of the listener does not fill up');
}
