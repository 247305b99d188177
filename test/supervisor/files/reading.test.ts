// Reading a file over HTTP: parts, versions, and what is said when the file is not what it was.
import { appendFileSync, truncateSync, utimesSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { fileListResponse } from '../../../src/contract/files.ts';
import { parseRange } from '../../../src/supervisor/files/byte-range.ts';
import { parseGlob } from '../../../src/supervisor/files/glob.ts';
import { growthOf } from '../../support/growth.ts';
import { serveFiles } from '../../support/serve-files.ts';

it('answers one range, and says when there is nothing in it', async () => {
  const { home, get } = await serveFiles();
  writeFileSync(join(home, 'x'), '0123456789');
  const read = (range: string) => get('read', { path: 'x' }, { headers: { range } });
  const cases = [
    ['bytes=0-3', 206, '0123', 'bytes 0-3/10'],
    ['bytes=4-', 206, '456789', 'bytes 4-9/10'],
    ['bytes=-3', 206, '789', 'bytes 7-9/10'],
    ['bytes=8-100', 206, '89', 'bytes 8-9/10'],
    ['bytes=0-1,4-5', 200, '0123456789', undefined],
    ['bytes=5-2', 200, '0123456789', undefined],
    ['lines=1-2', 200, '0123456789', undefined],
  ] as const;
  for (const [range, status, text, contentRange] of cases) {
    const answer = await read(range);
    expect([answer.status, answer.text, answer.headers['content-range']], range).toEqual([status, text, contentRange]);
  }
  const beyond = await read('bytes=10-');
  expect(beyond.status).toBe(416);
  expect(beyond.headers['content-range']).toBe('bytes */10');
  expect(beyond.json).toMatchObject({ error: 'invalid_range', code: 'EINVAL', path: `${home}/x` });
});

it('says which version it is, and sends it only to a caller that has another one', async () => {
  const { home, get } = await serveFiles();
  writeFileSync(join(home, 'x'), 'old');
  utimesSync(join(home, 'x'), 1_700_000_000, 1_700_000_000);
  const first = await get('read', { path: 'x' });
  const etag = first.headers.etag ?? '';
  const modified = first.headers['last-modified'] ?? '';
  expect(etag).toMatch(/^"[\w-]+"$/);
  expect(modified).toBe('Tue, 14 Nov 2023 22:13:20 GMT');
  const status = async (headers: Record<string, string>) => (await get('read', { path: 'x' }, { headers })).status;
  expect(await status({ 'if-none-match': etag })).toBe(304);
  expect(await status({ 'if-none-match': `"other", W/${etag}` })).toBe(304);
  expect(await status({ 'if-modified-since': modified })).toBe(304);
  expect(await status({ range: 'bytes=0-0', 'if-range': etag })).toBe(206);
  expect(await status({ range: 'bytes=0-0', 'if-range': modified })).toBe(206);
  appendFileSync(join(home, 'x'), '!');
  expect(await status({ 'if-none-match': etag })).toBe(200);
  expect(await status({ range: 'bytes=0-0', 'if-range': etag })).toBe(200);
  const head = await get('read', { path: 'x' }, { method: 'HEAD' });
  expect([head.status, head.headers['content-length'], head.text]).toEqual([200, '4', '']);
});

it('cuts the connection when the file shrinks meanwhile', async () => {
  const { home, socket } = await serveFiles();
  const size = 16 * 1024 * 1024;
  writeFileSync(join(home, 'x'), Buffer.alloc(size));
  const outcome = await new Promise<{ bytes: number; ended: string }>((resolve, reject) => {
    const target = `/v1/fs/read?path=x&workingDir=${encodeURIComponent(home)}`;
    const call = request({ socketPath: socket, path: target }, (response) => {
      let bytes = 0;
      expect(response.headers['content-length']).toBe(String(size));
      truncateSync(join(home, 'x'), 1_000);
      response.on('data', (piece: Buffer) => {
        bytes += piece.length;
      });
      response.once('end', () => resolve({ bytes, ended: 'whole' }));
      response.once('error', () => resolve({ bytes, ended: 'cut' }));
    });
    call.once('error', reject).end();
  });
  expect(outcome.ended).toBe('cut');
  expect(outcome.bytes).toBeLessThan(size);
});

it('reads files of the kernel, which have no size', async () => {
  const { get } = await serveFiles();
  const answer = await get('read', { path: '/proc/self/status' });
  expect(answer.text).toContain('VmRSS');
  expect(answer.headers['content-length']).toBeUndefined();
});

it('lists 10,000 files while the loop goes on', async () => {
  const { home, get } = await serveFiles();
  for (let index = 0; index < 10_000; index += 1) writeFileSync(join(home, `file-${index}`), '');
  let turns = 0;
  const ticking = setInterval(() => {
    turns += 1;
  }, 1);
  const answer = await get('list', { path: '.' });
  clearInterval(ticking);
  const list = fileListResponse.parse(answer.json);
  expect([list.count, list.entries.length]).toEqual([10_000, 10_000]);
  expect(turns).toBeGreaterThan(20);
});

it.each([
  ['*.ts', 'a.ts', true],
  ['*.ts', 'deep/a.ts', true],
  ['*.ts', 'a.tsx', false],
  ['?.js', 'ab.js', false],
  ['[a-c]x', 'bx', true],
  ['[!a-c]x', 'bx', false],
  ['[]', '[]', true],
  ['\\*', '*', true],
  ['\\*', 'a', false],
  ['*', '', true],
  ['**/*.ts', 'a/b/c.ts', true],
  ['**/*.ts', 'c.ts', true],
  ['src/**/x', 'src/x', true],
  ['src/**/x', 'src/a/b/x', true],
  ['src/*/x', 'src/a/b/x', false],
  ['src/*', 'src/a', true],
  ['🙂?', '🙂🙃', true],
])('pattern %s, path %s: %s', (pattern, path, expected) => {
  expect(parseGlob(pattern).matches(path)).toBe(expected);
});

it('a pattern costs no more than the product of the lengths', () => {
  const ratio = growthOf((text) => parseGlob('*a*a*a*a*a*b').matches(text), 'a'.repeat(4_096), 'a'.repeat(8_192), 2.5);
  expect(ratio).toBeLessThanOrEqual(2.5);
});

it.each([
  [undefined, 10, undefined],
  ['bytes=-0', 10, 'unsatisfiable'],
  ['bytes=-5', 0, 'unsatisfiable'],
  ['bytes=0-', 0, 'unsatisfiable'],
  ['bytes=-50', 10, { start: 0, end: 10 }],
  ['bytes = 1 - 2', 10, { start: 1, end: 3 }],
  ['bytes=-', 10, undefined],
])('range %s of %i', (header, size, expected) => {
  expect(parseRange(header, size)).toEqual(expected);
});
