// Files that are large, and directories that are: memory stays where it is.
import { readFileSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { expect, test } from 'vitest';
import { isRoot, otherUser, ownUser, serveFiles } from '../support/serve-files.ts';

const GIGABYTE = 1024 ** 3;
/** What the process of the user may grow by: buffers that wait, and garbage. */
const GROWTH_MAX_KB = 128 * 1024;

/** The most memory that the process ever had, in kilobytes. */
const peakOf = (pid: number) => Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]);

function* zeros(bytes: number): Generator<Buffer> {
  const piece = Buffer.alloc(64 * 1024);
  for (let sent = 0; sent < bytes; sent += piece.length) yield piece;
}

test('a gigabyte goes each way at constant memory', async () => {
  const { home, socket, room, get } = await serveFiles(isRoot ? otherUser() : ownUser());
  await get('list', { path: '.' });
  const pid = room.userProcess ?? process.pid;
  const before = peakOf(pid);
  const query = new URLSearchParams({ workingDir: home, path: 'big' });
  const written = await new Promise<number>((resolve, reject) => {
    const call = request({ socketPath: socket, method: 'PUT', path: `/v1/fs/write?${query}` }, (response) => {
      response.resume().once('end', () => resolve(response.statusCode ?? 0));
    });
    pipeline(Readable.from(zeros(GIGABYTE)), call).catch(reject);
  });
  expect(written).toBe(200);
  const read = await new Promise<number>((resolve, reject) => {
    request({ socketPath: socket, path: `/v1/fs/read?${query}` }, (response) => {
      let bytes = 0;
      response.on('data', (piece: Buffer) => {
        bytes += piece.length;
      });
      response.once('end', () => resolve(bytes)).once('error', reject);
    }).end();
  });
  expect(read).toBe(GIGABYTE);
  expect(peakOf(pid) - before).toBeLessThan(GROWTH_MAX_KB);
});

test('more than 100,000 files are refused, and a pattern finds one of them', async () => {
  const { home, get } = await serveFiles();
  for (let index = 0; index <= 100_000; index += 1) writeFileSync(join(home, `file-${index}`), '');
  const refused = await get('list', { path: '.' });
  expect(refused.status).toBe(413);
  expect(refused.json).toMatchObject({ error: 'payload_too_large', code: 'EFBIG' });
  expect((await get('list', { path: '.', pattern: '*99999' })).json).toMatchObject({ count: 1 });
  expect((await get('delete', { path: home, recursive: 'true' }, { method: 'DELETE' })).json).toMatchObject({
    count: 100_002,
  });
});
