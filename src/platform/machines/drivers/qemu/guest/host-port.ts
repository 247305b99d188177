// What the host asks of the system in a machine, as lines over a serial port: `sync ID`, which it answers with `synced ID` when everything
// is on its disk, and `poweroff`. A machine that answers nothing is treated as one that cannot.
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { createLineFramer } from '../../../../../core/ndjson.ts';
import { randomHex } from '../../../../../core/urandom.ts';
import { PORT_SOCKET } from '../machine-files.ts';
import { openShortPath } from '../short-path.ts';

const CONNECT_MS = 2_000;
const LINE_LIMIT_BYTES = 1_024;

/** Asks the machine to end; it may hear that as long as the result is not disposed of. Rejects when nobody can be asked. */
export async function askToPowerOff(dir: string): Promise<Disposable> {
  const socket = await open(dir);
  socket.write('poweroff\n');
  return { [Symbol.dispose]: () => void socket.destroy() };
}

/** Resolves with whether the machine has written everything to its disk in time. */
export async function askToSync(dir: string, limit_ms: number): Promise<boolean> {
  try {
    const socket = await open(dir);
    try {
      const id = randomHex(8);
      socket.write(`sync ${id}\n`);
      return await untilLine(socket, `synced ${id}`, limit_ms);
    } finally {
      socket.destroy();
    }
  } catch {
    return false;
  }
}

async function untilLine(socket: Socket, wanted: string, limit_ms: number): Promise<boolean> {
  const framer = createLineFramer(LINE_LIMIT_BYTES);
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const timer = setTimeout(() => resolve(false), limit_ms);
  socket.once('close', () => resolve(false));
  socket.on('data', (chunk: Buffer) => {
    try {
      framer.push(chunk, (line) => line === wanted && resolve(true));
    } catch {
      // A line without an end is no answer.
      resolve(false);
    }
  });
  try {
    return await promise;
  } finally {
    clearTimeout(timer);
  }
}

async function open(dir: string): Promise<Socket> {
  using directory = openShortPath(dir);
  const socket = connect({ path: join(directory.path, PORT_SOCKET) });
  socket.on('error', () => undefined);
  await once(socket, 'connect', { signal: AbortSignal.timeout(CONNECT_MS) });
  return socket;
}
