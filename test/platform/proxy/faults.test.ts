// What goes wrong between a caller and a machine costs that one request, and neither memory nor the next one.

import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { openOnce } from '../../support/at-end.ts';
import { eventually } from '../../support/eventually.ts';
import { openProxiedMachine, SPRITE_HOST } from '../../support/proxied-machine.ts';
import { openRaw } from '../../support/raw-http.ts';

const MB = 1024 * 1024;
/** So many would fill 16 MB with what each of them has not sent. */
const CALLERS = 480;
const AT_ONCE = 8;
/** So many callers take a second on a quiet machine. */
const LIMIT_MS = 180_000;

const opened = openOnce(openProxiedMachine);

const head = (path: string, more = '', method = 'GET') =>
  `${method} ${path} HTTP/1.1\r\nHost: ${SPRITE_HOST}\r\n${more}\r\n`;

function dial(bytes: string): Socket {
  const socket = connect({ host: '127.0.0.1', port: opened().proxyPort });
  onTestFinished(() => void socket.destroy());
  socket.on('error', () => undefined).write(bytes);
  return socket;
}

test('callers who go away in the middle of an answer leave the machine reachable', { timeout: LIMIT_MS }, async () => {
  async function one(): Promise<void> {
    const socket = dial(head(`/bytes?size=${MB}`));
    let bytes = 0;
    await new Promise<void>((resolve) => {
      socket.on('data', (piece: Buffer) => {
        bytes += piece.length;
        if (bytes > 130_000) resolve();
      });
      socket.once('close', () => resolve());
    });
    socket.destroy();
    expect(bytes).toBeGreaterThan(130_000);
  }
  for (let count = 0; count < CALLERS; count += AT_ONCE) await Promise.all(Array.from({ length: AT_ONCE }, one));
  expect((await opened().ask({ path: '/describe' })).status).toBe(200);
});

test('callers who go away in the middle of a body do too', { timeout: LIMIT_MS }, async () => {
  const piece = Buffer.alloc(64 * 1024, 'b');
  async function one(): Promise<void> {
    const socket = dial(head('/never', `Content-Length: ${MB}\r\n`, 'POST'));
    for (let count = 0; count < 8; count += 1) {
      if (!socket.write(piece)) await Promise.race([once(socket, 'drain'), sleep(20)]);
    }
    socket.destroy();
  }
  for (let count = 0; count < CALLERS; count += AT_ONCE) await Promise.all(Array.from({ length: AT_ONCE }, one));
  // The machine lets go of those who went away a moment later, and serves only so many at once.
  const answer = await eventually(async () => {
    const asked = await opened().ask({ path: '/describe', method: 'POST', body: Buffer.alloc(MB, 'b') });
    return asked.status !== 429 && asked;
  });
  expect(answer).toMatchObject({ status: 200, json: { bytes: MB } });
});

test('a caller who does not read, and a server that does not, hold little memory', async () => {
  const { ask } = opened();
  const before = process.memoryUsage().rss;
  const readers = Array.from({ length: 16 }, () => {
    const socket = dial(head(`/bytes?size=${200 * MB}&chunked`));
    socket.pause();
    return socket;
  });
  const writer = dial(head('/never', `Content-Length: ${200 * MB}\r\n`, 'POST'));
  const piece = Buffer.alloc(MB, 'b');
  let sent = 0;
  while (writer.write(piece) && sent < 200) sent += 1;
  // Others are served meanwhile, and often enough for the rest to have come.
  for (let count = 0; count < 20; count += 1) {
    expect((await ask({ path: '/describe', method: 'POST', body: piece })).json.bytes).toBe(MB);
  }
  expect((process.memoryUsage().rss - before) / MB).toBeLessThan(200);
  for (const socket of [...readers, writer]) socket.destroy();
});

test('callers who write slowly hold little memory, reach the machine once they are through, and keep nobody from it', async () => {
  const { ask, proxyPort } = opened();
  const before = process.memoryUsage().rss;
  const size = 60_000;
  const collected = `${head('/describe?slow', `Content-Length: ${size}\r\n`, 'POST')}${'b'.repeat(size / 2)}`;
  const chunked = `${head('/describe?slow', 'Transfer-Encoding: chunked\r\n', 'POST')}1\r\nb\r\n`;
  const slow = [
    ...Array.from({ length: 50 }, () => [head('/describe?slow').slice(0, -2), '\r\n', 0] as const),
    ...Array.from({ length: 50 }, () => [collected, 'b'.repeat(size / 2), size] as const),
    ...Array.from({ length: 50 }, () => [chunked, '1\r\nb\r\n0\r\n\r\n', 2] as const),
  ];
  const callers = slow.map(([first]) => openRaw(proxyPort, first));
  const came = async () => JSON.parse((await ask({ path: '/arrivals' })).text).arrivals as { readonly url: string }[];
  const countSlow = async () => (await came()).filter(({ url }) => url === '/describe?slow').length;
  // A body in chunks is passed on as it comes; the machine gets nothing yet of any other one.
  await eventually(async () => (await countSlow()) === 50);
  expect((await ask({ path: '/describe', method: 'POST', body: Buffer.alloc(MB, 'b') })).json.bytes).toBe(MB);
  expect((process.memoryUsage().rss - before) / MB).toBeLessThan(100);
  for (const [index, [, rest]] of slow.entries()) callers[index]?.socket.write(rest);
  const answers = await Promise.all(callers.map((caller) => caller.until(/"bytes":\d+,/)));
  expect(answers.map((text) => Number(/"bytes":(\d+)/.exec(text)?.[1]))).toEqual(slow.map(([, , bytes]) => bytes));
  expect(await countSlow()).toBe(150);
});

test('a server that never answers is let go when its caller goes', async () => {
  const { ask, machine } = opened();
  const streams = async () => (await machine.channel()).streams;
  const caller = dial(head('/never?by=let-go'));
  await eventually(async () => (await ask({ path: '/arrivals' })).text.includes('/never?by=let-go'));
  caller.destroy();
  await eventually(async () => (await streams()) <= 3);
});

test('a machine that ends in the middle of a body breaks the answer off, and the next request starts it again', async () => {
  const { machine, ask, platform } = opened();
  const caller = openRaw(opened().proxyPort, head('/events'));
  await caller.until(/data: 1\n/);
  const { path } = { path: `/v1/apps/acme/machines/${machine.id}` };
  expect((await platform.call({ method: 'POST', path: `${path}/stop`, body: { signal: 'SIGKILL' } })).status).toBe(200);
  expect((await caller.ended).endsWith('0\r\n\r\n')).toBe(false);
  await machine.wait('state=stopped');
  expect((await ask({ path: '/describe' })).status).toBe(200);
});
