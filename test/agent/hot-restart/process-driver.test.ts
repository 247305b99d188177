// The re-exec inside a machine of the process driver, which knows the agent by its pid: the machine runs on, and its next suspend and
// start are those of the same process.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { agentProgram } from '../../../src/cli/agent-program.ts';
import { openDevStack } from '../../../src/cli/dev/dev-stack.ts';
import { ask } from '../../support/ask.ts';
import { imageOf } from '../../support/exec-of.ts';
import { tempDir } from '../../support/temp-dir.ts';

const status = z.object({ pid: z.int(), generation: z.int(), started_at: z.string() });

it('leaves the machine to its driver: same pid, running, suspended and started again', async () => {
  const dir = tempDir();
  const config = join(dir, 'agent.toml');
  writeFileSync(config, '[resume]\nrng = "reexec"\n');
  const dev = await openDevStack({
    dir: join(dir, 'dev'),
    port: 0,
    interval_ms: 1_000,
    agentCommand: { ...agentProgram, args: [...agentProgram.args, '--config', config] },
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
  const before = await readStatus();
  const image = imageOf(before.pid);

  await ask(socket, { method: 'POST', target: '/v1/machine/resumed' });
  await expect.poll(() => imageOf(before.pid), { timeout: 15_000, interval: 20 }).not.toBe(image);
  const after = await readStatus();
  expect(after).toMatchObject({ pid: before.pid, generation: before.generation + 1 });
  expect(await state()).toBe('running');
  const call = async () => (await ask(socket, { target: '/v1/gateway/sample/sample/hello' })).status;
  await expect.poll(call).toBe(200);

  const kept = imageOf(before.pid);
  const asked = async () => (await ask(socket, { method: 'POST', target: '/v1/machine/suspend' })).status;
  await expect.poll(asked).toBe(200);
  await expect.poll(state).toBe('suspended');
  await new Promise((resolve) => setTimeout(resolve, 2_500));
  expect((await platform('POST', '/start')).status).toBe(200);
  await expect
    .poll(readStatus)
    .toMatchObject({ pid: before.pid, generation: before.generation + 2, started_at: after.started_at });
  expect(imageOf(before.pid)).toBe(kept);
});
