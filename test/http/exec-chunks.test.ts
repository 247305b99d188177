// The chunks in which a process answers over plain HTTP, by a server of node:http.
import { once } from 'node:events';
import { createServer, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { ExecChunks } from '../../src/http/exec-chunks.ts';

/** What a client reads as chunks when `write` answers. */
async function readChunks(write: (response: ServerResponse) => unknown): Promise<Buffer[]> {
  const server = createServer((_request, response) => {
    response.writeHead(200).flushHeaders();
    write(response);
  }).listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  const asking = request({ port: (server.address() as AddressInfo).port, agent: false }).end();
  const [answer] = await once(asking, 'response');
  const chunks: Buffer[] = [];
  answer.on('data', (chunk: Buffer) => chunks.push(chunk));
  await once(answer, 'end');
  return chunks;
}

/** The bytes of one kind, with what came of it in a row. */
function toText(chunks: readonly Buffer[], kind: number): string {
  return Buffer.concat(chunks.filter((chunk) => chunk[0] === kind).map((chunk) => chunk.subarray(1))).toString();
}

test('frames that wait go out as few chunks, in their order, and the exit code as one of its own', async () => {
  const lines = Array.from({ length: 2_000 }, (_, index) => `line ${index}\n`);
  const chunks = await readChunks(async (response) => {
    const writer = new ExecChunks(response);
    for (const line of lines) await writer.write(Buffer.from(`\x01${line}`));
    await writer.write(Buffer.from('\x02error'));
    await writer.write(Buffer.from('\x01after'));
    await writer.write(Buffer.from([3, 7]));
    await writer.end();
  });
  expect(toText(chunks, 1)).toBe(`${lines.join('')}after`);
  expect(chunks.slice(-3).map(String)).toEqual(['\x02error', '\x01after', '\x03\x07']);
  expect(chunks.length).toBeLessThan(100);
  expect(Math.max(...chunks.map(({ length }) => length))).toBeLessThanOrEqual(16 * 1024 - 8);
});

test.each([
  ['one more frame', 2, 1, 'room'],
  ['much that waits', 40_000, 1, 'full'],
  ['frames that change their kind all the time', 1, 64, 'full'],
])('with %s there is or is not room for more', async (_what, bytes, count, expected) => {
  let found: unknown;
  await readChunks(async (response) => {
    const writer = new ExecChunks(response);
    // It goes out at once: all that comes next waits.
    writer.write(Buffer.alloc(40_000, 1));
    for (let index = 0; index < count; index += 1) writer.write(Buffer.alloc(bytes, 1 + (index % 2)));
    const room = writer.write(Buffer.alloc(bytes, 1)).then(() => 'room');
    const turn = new Promise((resolve) => setImmediate(resolve, 'full'));
    found = await Promise.race([room, turn]);
    await writer.write(Buffer.from([3, 0]));
    await writer.end();
  });
  expect(found).toBe(expected);
});
