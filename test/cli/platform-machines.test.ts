// `remora platform` with real agents: a directory as people write it, machines that outlive it, and a machine that cannot start.
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { Secret } from '../../src/core/secret.ts';
import { startChild } from '../support/child-lines.ts';
import { openFreePort } from '../support/free-port.ts';
import { endLeftMachines, listMachinePids } from '../support/left-machines.ts';
import { callPlatform, type PlatformCall, TEST_KEY } from '../support/open-platform.ts';
import { remoraPath } from '../support/run-remora.ts';
import { tempDir } from '../support/temp-dir.ts';

/** Started in `cwd`, with its directory named from there. */
async function open(cwd: string, port = '0') {
  endLeftMachines(join(cwd, 'data'));
  writeFileSync(join(cwd, 'key'), TEST_KEY.reveal(), { mode: 0o600 });
  const words = ['platform', '--dir', 'data', '--key-file', 'key', '--port', port];
  const more = ['--organization', 'acme', '--token-file', 'token'];
  const child = startChild(process.execPath, [remoraPath, ...words, ...more], {}, cwd);
  const { url } = JSON.parse(await child.line(/"serving"/));
  const token = new Secret(readFileSync(join(cwd, 'token'), 'utf8').trim());
  const call = (call: PlatformCall) => callPlatform(url, { token, ...call });
  /** Resolves at the end of its output too: a machine that held a pipe of it would keep it open. */
  async function stop(): Promise<void> {
    child.process.kill('SIGTERM');
    expect(await child.ended).toBe(0);
  }
  return { url, call, stop };
}

it('starts a machine from a relative --dir, whose agent runs on and is served by the next platform', async () => {
  const cwd = tempDir();
  const first = await open(cwd, String(await openFreePort()));
  const { json: sprite } = await first.call({ method: 'POST', path: '/v1/sprites', body: { name: 'dev-1' } });
  const { json: machines } = await first.call({ path: '/v1/apps/acme/machines' });
  expect(machines).toMatchObject([{ id: sprite.machine_id, sprite: 'dev-1', state: 'stopped', region: 'local' }]);
  const path = `/v1/apps/acme/machines/${sprite.machine_id}`;
  const start = (platform: typeof first) => platform.call({ method: 'POST', path: `${path}/start` });
  expect((await start(first)).json).toEqual({ previous_state: 'stopped', migrated: false });
  const pids = listMachinePids(join(cwd, 'data'));
  expect(pids.length).toBeGreaterThan(0);
  await first.stop();

  const next = await open(cwd, new URL(first.url).port);
  expect(listMachinePids(join(cwd, 'data'))).toEqual(pids);
  expect((await start(next)).json).toEqual({ previous_state: 'running', migrated: false });
  expect((await next.call({ method: 'POST', path: `${path}/suspend` })).status).toBe(200);
  expect((await next.call({ path: `${path}/wait?state=suspended` })).status).toBe(200);
  expect((await next.call({ method: 'DELETE', path: '/v1/sprites/dev-1' })).status).toBe(204);
  expect(listMachinePids(join(cwd, 'data'))).toEqual([]);
  await next.stop();
});

it('answers a start whose agent ends with what the agent said', async () => {
  const cwd = tempDir();
  const platform = await open(cwd);
  const { json: sprite } = await platform.call({ method: 'POST', path: '/v1/sprites', body: { name: 'dev-1' } });
  const place = join(cwd, 'data', 'machines', sprite.machine_id);
  mkdirSync(join(place, 'agent.sock'), { recursive: true });
  const path = `/v1/apps/acme/machines/${sprite.machine_id}/start`;
  const answer = await platform.call({ method: 'POST', path });
  expect([answer.status, answer.json.error]).toEqual([504, 'start_failed']);
  expect(answer.json.message).toContain('agent.sock');
  rmSync(join(place, 'agent.sock'), { recursive: true });
  expect((await platform.call({ method: 'POST', path })).status).toBe(200);
  await platform.call({ method: 'DELETE', path: '/v1/sprites/dev-1' });
  await platform.stop();
});
