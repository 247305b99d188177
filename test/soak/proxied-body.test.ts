// A gigabyte through the proxy each way: every byte arrives, and the platform holds few of them.
import { createHash } from 'node:crypto';
import { request } from 'node:http';
import { expect, it } from 'vitest';
import { openOnce } from '../support/at-end.ts';
import { openProxiedMachine, SPRITE_HOST } from '../support/proxied-machine.ts';

const MB = 1024 * 1024;
const SIZE_MB = 1_024;
const GROWTH_MAX_MB = 200;

const opened = openOnce(openProxiedMachine);

/** The most memory that the platform held while `work` ran, beyond what it held before. */
async function growthOf(work: () => Promise<void>): Promise<number> {
  const before = process.memoryUsage().rss;
  let most = before;
  const timer = setInterval(() => {
    most = Math.max(most, process.memoryUsage().rss);
  }, 50);
  await work().finally(() => clearInterval(timer));
  return (most - before) / MB;
}

it('comes down', async () => {
  let bytes = 0;
  const growth = await growthOf(
    () =>
      new Promise((resolve, reject) => {
        const path = `/bytes?size=${SIZE_MB * MB}`;
        const call = request({ host: '127.0.0.1', port: opened().proxyPort, path, headers: { host: SPRITE_HOST } });
        call.once('error', reject).once('response', (response) => {
          response.on('data', (piece: Buffer) => {
            bytes += piece.length;
          });
          response.once('end', resolve).once('error', reject);
        });
        call.end();
      }),
  );
  expect(bytes).toBe(SIZE_MB * MB);
  expect(growth).toBeLessThan(GROWTH_MAX_MB);
});

it('goes up', async () => {
  const piece = Buffer.alloc(MB, 'b');
  const hash = createHash('sha256');
  let answer = '';
  const growth = await growthOf(
    () =>
      new Promise((resolve, reject) => {
        const headers = { host: SPRITE_HOST, 'content-length': SIZE_MB * MB };
        const target = { host: '127.0.0.1', port: opened().proxyPort, path: '/describe', method: 'POST', headers };
        const call = request(target);
        call.once('error', reject).once('response', (response) => {
          response.on('data', (part) => {
            answer += String(part);
          });
          response.once('end', resolve).once('error', reject);
        });
        let sent_mb = 0;
        const send = () => {
          while (sent_mb < SIZE_MB) {
            sent_mb += 1;
            hash.update(piece);
            if (!call.write(piece)) return void call.once('drain', send);
          }
          call.end();
        };
        send();
      }),
  );
  expect(JSON.parse(answer)).toMatchObject({ bytes: SIZE_MB * MB, sha256: hash.digest('hex') });
  expect(growth).toBeLessThan(GROWTH_MAX_MB);
});
