// How much of a lane that comes in single bytes waits for a reader that does not read: over a real connection.
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { boundPieces } from '../../src/platform/channels/bound-pieces.ts';
import { eventually } from '../support/eventually.ts';

async function openSockets(): Promise<{ readonly writer: Socket; readonly reader: Socket }> {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const writer = connect({ port: (server.address() as AddressInfo).port, host: '127.0.0.1', noDelay: true });
  const [reader]: Socket[] = await once(server, 'connection');
  if (reader === undefined) throw new Error('no connection came');
  server.close();
  onTestFinished(() => {
    writer.destroy();
    reader.destroy();
  });
  return { writer, reader };
}

const BYTES = 2_000;

/** Each byte arrives before the next one is sent, while the reader takes it. */
async function writeSingly(writer: Socket, reader: Socket): Promise<void> {
  let isTaken = true;
  for (let sent = 0; sent < BYTES; sent += 1) {
    writer.write('x');
    // A byte may be under way for long where the machine has other work.
    const most = isTaken ? 2_000 : 3;
    for (let turns = 0; turns < most && reader.bytesRead <= sent; turns += 1) await turn();
    isTaken &&= reader.bytesRead > sent;
  }
}

test('single bytes that nobody reads stay in the kernel, and arrive once somebody does', async () => {
  const { writer, reader } = await openSockets();
  boundPieces(reader);
  // Reads as undici does.
  reader.on('readable', () => undefined);
  await writeSingly(writer, reader);
  expect(reader.bytesRead).toBeLessThan(600);
  let taken = 0;
  const take = () => {
    for (let piece: Buffer | null = reader.read(); piece !== null; piece = reader.read()) taken += piece.length;
  };
  reader.on('readable', take);
  take();
  await eventually(() => taken === BYTES);
});

test('a reader that keeps up gets everything, and the end', async () => {
  const { writer, reader } = await openSockets();
  boundPieces(reader);
  let taken = 0;
  reader.on('data', (piece: Buffer) => {
    taken += piece.length;
  });
  const ended = once(reader, 'end');
  await writeSingly(writer, reader);
  writer.end(Buffer.alloc(1024 * 1024));
  await ended;
  expect(taken).toBe(BYTES + 1024 * 1024);
});
