// What an upgrade does while something is in flight, and when the process cannot be ended.
import { request as httpRequest } from 'node:http';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { createUpgrade, type UpgradeOptions } from '../../../src/agent/upgrade/upgrade.ts';
import { localUpgradeOperations } from '../../../src/contract/local/upgrade.ts';
import { createEdge } from '../../../src/http/edge.ts';
import { listenOnPath } from '../../../src/http/listen-on-path.ts';
import { ask } from '../../support/ask.ts';
import { silentLog } from '../../support/silent-log.ts';
import { tempDir } from '../../support/temp-dir.ts';

async function openUpgrade(options: Partial<UpgradeOptions>) {
  let begun = Promise.withResolvers<never>();
  let count = 0;
  const upgrade = createUpgrade({
    version: '1.0.0',
    newest: async () => '2.0.0',
    whyNot: () => undefined,
    inFlight: async () => new Map(),
    begin() {
      count += 1;
      begun = Promise.withResolvers();
      return begun.promise;
    },
    quiet_ms: 300,
    ...options,
  });
  const edge = createEdge({
    operations: localUpgradeOperations,
    handlers: upgrade.handlers,
    authenticate: () => ({ listener: 'socket' as const }),
    checkAnswers: true,
    log: silentLog,
  });
  onTestFinished(() => edge.drain(0));
  const socket = join(tempDir(), 's');
  await listenOnPath(edge.createServer('socket'), { path: socket, mode: 0o600 });
  const call = (query = '') => ask(socket, { method: 'POST', target: `/v1/upgrade${query}` });
  const fail = () => begun.reject(new Error('the disk is full'));
  return { socket, call, fail, begun: () => count };
}

it('names what would be cut off, begins nothing, and takes the next try', async () => {
  const inFlight = new Map([
    ['exec', 2],
    ['port 3000', 1],
  ]);
  const { call, fail, begun } = await openUpgrade({ inFlight: async () => inFlight });
  expect(await call()).toMatchObject({
    status: 409,
    json: {
      error: 'held',
      message: expect.stringContaining('exec (2), port 3000 (1)'),
      details: {
        in_flight: [
          { owner: 'exec', count: 2 },
          { owner: 'port 3000', count: 1 },
        ],
      },
    },
  });
  expect(begun()).toBe(0);
  inFlight.clear();
  const json = { version_before: '1.0.0', version_after: '2.0.0' };
  expect(await call()).toMatchObject({ status: 202, json });
  await expect.poll(begun).toBe(1);
  expect(await call()).toMatchObject({ status: 409, json: { error: 'conflict' } });
  fail();
  expect(await call('?force=true')).toMatchObject({ status: 202, json });
  await expect.poll(begun).toBe(2);
});

it('begins nothing for a caller who has gone away while it waited', async () => {
  let newest = '2.0.0';
  let looks = 0;
  const { socket, call, begun } = await openUpgrade({
    newest: async () => newest,
    async inFlight() {
      looks += 1;
      return new Map([['exec', 1]]);
    },
    quiet_ms: 60_000,
  });
  const gone = httpRequest({ socketPath: socket, method: 'POST', path: '/v1/upgrade' }).on('error', () => undefined);
  gone.end();
  await expect.poll(() => looks).toBeGreaterThan(0);
  expect(await call()).toMatchObject({ status: 409, json: { error: 'conflict' } });
  gone.destroy();
  newest = '1.0.0';
  await expect.poll(async () => (await call()).status).toBe(204);
  expect(begun()).toBe(0);
});
