// The sources run without a build: the command, the daemon with its processes and threads, and `remora dev`.
import { expect, it, onTestFinished } from 'vitest';
import { startAgent } from '../support/agent-process.ts';
import { ask } from '../support/ask.ts';
import { startDev } from '../support/dev-process.ts';
import { killProcesses } from '../support/processes-of.ts';
import { runRemora, sourceLauncherPath, sourcePath } from '../support/run-remora.ts';
import { tempDir } from '../support/temp-dir.ts';

it('prints its help', async () => {
  const run = await runRemora(['--help'], { program: sourcePath });
  expect(run).toMatchObject({ code: 0, stderr: '' });
  expect(run.stdout).toMatch(/Exit codes: 0/);
});

it('starts an agent, and that one its supervisor', async () => {
  const agent = await startAgent({ REMORA_USER: String(process.getuid?.() ?? 0) }, undefined, sourcePath);
  onTestFinished(() => killProcesses(agent.dir));
  const answer = await agent.ask({ method: 'POST', target: '/v1/exec?cmd=echo&cmd=ran' });
  expect([answer.status, answer.text]).toEqual([200, expect.stringContaining('ran')]);
  agent.child.kill('SIGTERM');
  expect(await agent.ended).toBe(0);
});

it('starts all of `remora dev`, where every part is ready', async () => {
  await using dev = await startDev({ dir: tempDir(), launcher: sourceLauncherPath });
  await expect.poll(async () => (await ask(dev.record.socket, { target: '/v1/ready' })).status).toBe(200);
});
