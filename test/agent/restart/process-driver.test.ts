// A restart of the agent inside a machine of the process driver: the driver starts it again, the machine runs on as the same instance,
// and what else runs in it has not noticed.
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { openDevStack } from '../../../src/cli/dev/dev-stack.ts';
import { NODE_FLAGS } from '../../../src/core/node-flags.ts';
import { RESTART_FILE } from '../../../src/core/restart.ts';
import { asksForRestart, createRestartLimit } from '../../../src/platform/machines/drivers/process/start-again.ts';
import { ask } from '../../support/ask.ts';
import { remoraPath } from '../../support/run-remora.ts';
import { tempDir } from '../../support/temp-dir.ts';

const status = z.object({ pid: z.int(), generation: z.int(), started_at: z.string() });

it('is followed by a start of the driver: the same instance, running, suspended, started and stopped', async () => {
  const dir = tempDir();
  const config = join(dir, 'agent.toml');
  writeFileSync(config, '[resume]\nrng = "restart"\n');
  const dev = await openDevStack({
    dir: join(dir, 'dev'),
    port: 0,
    interval_ms: 1_000,
    agentCommand: { command: process.execPath, args: [...NODE_FLAGS, remoraPath, 'agent', '--config', config] },
    version: '0',
    signal: new AbortController().signal,
    print: () => undefined,
  });
  onTestFinished(() => dev[Symbol.asyncDispose]());
  const { socket, platform_url, token, app, machine } = dev.record;
  const readStatus = async () => status.parse((await ask(socket, { target: '/v1/status' })).json);
  const platform = (method: string, path: string) =>
    fetch(`${platform_url}/v1/apps/${app}/machines/${machine}${path}`, {
      method,
      headers: { authorization: `Bearer ${token}` },
    });
  const state = async () => ((await (await platform('GET', '')).json()) as { state: string }).state;
  const instance = async () => ((await (await platform('GET', '')).json()) as { instance_id: string }).instance_id;
  const before = await readStatus();
  const began = await instance();

  await ask(socket, { method: 'POST', target: '/v1/machine/resumed' });
  const now = () => readStatus().catch(() => before);
  await expect.poll(async () => (await now()).pid, { interval: 20 }).not.toBe(before.pid);
  const after = await readStatus();
  expect(after.generation).toBe(before.generation + 1);
  expect([await state(), await instance()]).toEqual(['running', began]);
  const call = async () => (await ask(socket, { target: '/v1/gateway/sample/sample/hello' })).status;
  await expect.poll(call).toBe(200);

  const asked = async () => (await ask(socket, { method: 'POST', target: '/v1/machine/suspend' })).status;
  await expect.poll(asked).toBe(200);
  await expect.poll(state).toBe('suspended');
  // The agent takes a shorter pause of its process for a busy host.
  await new Promise((resolve) => setTimeout(resolve, 2_500));
  expect((await platform('POST', '/start')).status).toBe(200);
  await expect
    .poll(readStatus)
    .toMatchObject({ pid: after.pid, generation: before.generation + 2, started_at: after.started_at });

  const stopped = await platform('POST', '/stop');
  expect(stopped.status).toBe(200);
  await expect.poll(state).toBe('stopped');
  await expect.poll(() => existsSync(`/proc/${after.pid}`)).toBe(false);
});

test('only an end that asks for it is followed by another start, and not without limit', () => {
  const state_dir = tempDir();
  const asks = (exit_code: number | null, signal: NodeJS.Signals | null = null) =>
    asksForRestart({ exit_code, signal }, state_dir);
  expect([asks(75), asks(0), asks(1), asks(null, 'SIGKILL'), asks(null)]).toEqual([true, false, false, false, false]);
  writeFileSync(join(state_dir, RESTART_FILE), '{}');
  expect([asks(0), asks(null, 'SIGKILL'), asks(null)]).toEqual([false, false, true]);
  let now_ms = 0;
  const mayStart = createRestartLimit(() => now_ms);
  expect(Array.from({ length: 25 }, () => mayStart('m1')).filter(Boolean)).toHaveLength(20);
  expect(mayStart('m2')).toBe(true);
  now_ms = 60_000;
  expect(mayStart('m1')).toBe(true);
});
