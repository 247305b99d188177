// A sprite behind the proxy: its page is opened, it is left alone and sleeps, and the next visit wakes it; what is open keeps it awake.
import { request } from 'node:http';
import { expect, onTestFinished, test } from 'vitest';
import { eventually } from '../../support/eventually.ts';
import { openProxiedMachine, SPRITE_HOST } from '../../support/proxied-machine.ts';

test('sleeps after a visit, is woken by the next one, and stays awake while a connection is open', async () => {
  const { machine, platform, ask, proxyPort } = await openProxiedMachine({ idle: { sprite_ms: 500 } });
  const path = `/v1/apps/acme/machines/${machine.id}`;
  const state = async () => (await platform.call({ path })).json.state;
  const kinds = async () =>
    (await platform.call({ path: `${path}/idle` })).json.kept_awake_by.map(({ kind }: { kind: string }) => kind).sort();
  await eventually(async () => (await state()) === 'suspended');
  expect((await ask({})).status).toBe(200);
  await eventually(async () => (await state()) === 'suspended');
  const open = request({
    host: '127.0.0.1',
    port: proxyPort,
    method: 'POST',
    path: '/describe',
    agent: false,
    headers: { host: `${SPRITE_HOST}:${proxyPort}`, 'transfer-encoding': 'chunked' },
  });
  open.on('error', () => undefined);
  onTestFinished(() => void open.destroy());
  open.write('the first part');
  await eventually(async () => (await state()) === 'running' && (await kinds()).join() === 'call,traffic');
  // Longer than it takes to fall asleep.
  const later = performance.now() + 1_500;
  await eventually(() => performance.now() > later);
  expect(await state()).toBe('running');
  const answered = new Promise<number | undefined>((resolve) => {
    open.once('response', (response) => {
      response.resume();
      resolve(response.statusCode);
    });
  });
  open.end('the last part');
  expect(await answered).toBe(200);
  await eventually(async () => (await state()) === 'suspended');
});
