// A wall clock that jumps under a running platform while it deals with providers: nothing waits for a time that was written before, and no
// secret becomes good again.
import { expect, test } from 'vitest';
import { eventually } from '../../support/eventually.ts';
import { openExtensions } from '../../support/provisioner.ts';
import { runHere } from '../../support/run-here.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** Only the wall clock is stepped: the monotonic one is the kernel's. */
async function openStepped() {
  const clock = { step_ms: 0, wall_ms: () => Date.now() + clock.step_ms, mono_ms: () => performance.now() };
  const now_s = () => Math.floor(clock.wall_ms() / 1_000);
  return { clock, now_s, ...(await openExtensions({ clock })) };
}

test.each([2 * HOUR_MS, -DAY_MS])('a step of %s ms between two questions for the status', async (step_ms) => {
  const { clock, provider, create, read } = await openStepped();
  let polls = 0;
  provider.spoil(({ method, path }, response) => {
    if (method !== 'GET') return false;
    polls += 1;
    if (polls === 2) clock.step_ms = step_ms;
    const status = polls < 4 ? 'provisioning' : 'ready';
    response.end(JSON.stringify({ id: path.split('/').at(-1), status }));
    return true;
  });
  await create('my-kv', { app: 'web' });
  await eventually(async () => (await read('my-kv')).state === 'ready');
  expect(polls).toBe(4);
  expect(provider.of('POST').length).toBe(1);
});

test.each([2 * HOUR_MS, -DAY_MS])(
  'a step of %s ms before a try is repeated, of a creation and of a removal',
  async (step_ms) => {
    const { clock, provider, create, read, call } = await openStepped();
    const failures = { POST: 2, DELETE: 2 };
    provider.spoil(({ method }, response) => {
      if (method !== 'POST' && method !== 'DELETE') return false;
      failures[method] -= 1;
      if (failures[method] < 0) return false;
      clock.step_ms += step_ms;
      response.writeHead(503, { 'retry-after': '0' }).end();
      return true;
    });
    await create('my-kv');
    await eventually(async () => (await read('my-kv')).state === 'ready');
    await call('DELETE', '/v1/extensions/my-kv');
    await eventually(() => provider.resources.size === 0);
  },
);

test('what a webhook said while the clock was a day ahead holds up neither the status nor the next webhook', async () => {
  const { clock, now_s, provider, create, read, call, tell } = await openStepped();
  const { provider_id: id } = (await create('my-kv')).json;
  clock.step_ms = DAY_MS;
  expect((await tell('resource.updated', { id, status: 'ahead' }, now_s())).status).toBe(202);
  const ahead_s = now_s();
  clock.step_ms = 0;
  expect((await tell('resource.updated', { id, status: 'forged' }, ahead_s)).status).toBe(401);
  provider.resources.set(id, { status: 'asked', plan: 'small' });
  expect((await call('GET', '/v1/extensions/my-kv?refresh=true')).json.status).toBe('asked');
  expect((await tell('resource.updated', { id, status: 'back' }, now_s())).status).toBe(202);
  expect((await read('my-kv')).status).toBe('back');
  expect((await tell('resource.updated', { id, status: 'older' }, now_s() - 20)).status).toBe(202);
  expect((await read('my-kv')).status).toBe('back');
});

test.each([
  ['1h', 2 * HOUR_MS],
  ['0s', -DAY_MS],
])('a secret that was changed with an overlap of %s is not good after a step of %s ms', async (overlap, step_ms) => {
  const { clock, now_s, platform, create, tell } = await openStepped();
  const { provider_id: id } = (await create('my-kv')).json;
  const tellNow = async () => (await tell('resource.updated', { id, status: 'x' }, now_s())).status;
  const words = ['platform', 'extension-provider', 'rotate-secret', 'kv', 'webhook', '--overlap', overlap];
  expect((await runHere([...words, '--dir', platform.dir])).err).toBe('');
  if (overlap === '1h') expect(await tellNow()).toBe(202);
  clock.step_ms = step_ms;
  // What was read a second ago may still be believed.
  await eventually(async () => (await tellNow()) === 401);
  expect(await tellNow()).toBe(401);
});
