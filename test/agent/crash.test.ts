// An error that nobody caught ends the agent, loudly, with what was in flight on record; a log that nobody reads does not.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { startAgent } from '../support/agent-process.ts';
import { ask } from '../support/ask.ts';
import { readGatewayLog } from '../support/gateway-log.ts';
import { remoraPath } from '../support/run-remora.ts';
import { soon } from '../support/soon.ts';
import { openStandInPlatform } from '../support/stand-in-platform.ts';
import { tempDir } from '../support/temp-dir.ts';
import { untilJudged } from '../support/until-judged.ts';

const connectors = [{ id: 'conn_1', provider: 'openai', access_policy: { allow_all: true } }];

/** A fault in a program is made from outside: SIGUSR2 throws where nobody catches. */
function withFault(kind: 'error' | 'rejection'): Record<string, string> {
  const path = join(tempDir(), 'fault.mjs');
  const fault = kind === 'error' ? "throw new Error('boom')" : "void Promise.reject(new Error('boom'))";
  writeFileSync(path, `process.on('SIGUSR2', () => { ${fault}; });\n`);
  return { NODE_OPTIONS: `--import=${path}` };
}

it.each(['error', 'rejection'] as const)(
  'after an uncaught %s it ends with a code, and the calls in flight are on record',
  async (kind) => {
    const platform = await openStandInPlatform({ connectors, onGateway: (request) => void request.resume() });
    const settings = { REMORA_BASE_URL: platform.url, REMORA_TOKEN: 'canary-token', REMORA_SPRITE: 'dev-1' };
    const agent = await startAgent({ ...settings, ...withFault(kind) });
    await untilJudged(agent);
    const target = '/v1/gateway/openai/conn_1/v1/models';
    const answers = Promise.allSettled([agent.get(target), agent.ask({ method: 'POST', target, body: 'work' })]);
    await soon(() => expect(platform.calls).toHaveLength(2));
    // The thread of the log runs by then: to start it may take longer on a busy machine than an agent has for its last records.
    await readGatewayLog(agent.socket);
    agent.child.kill('SIGUSR2');
    expect(await agent.ended).toBe(1);
    expect(agent.log()).toMatch(/"level":60.*boom.*nobody caught/);
    await answers;

    const next = await startAgent(settings, agent.dir);
    const record = { decision: 'allow', path: '/v1/models', code: 'shutting_down' };
    expect((await readGatewayLog(next.socket)).records).toMatchObject([record, record]);
  },
);

it('goes on when nobody reads its log any more', async () => {
  const dir = tempDir();
  const socket = join(dir, 'agent.sock');
  const env = {
    PATH: process.env.PATH ?? '',
    REMORA_SOCKET: socket,
    REMORA_STATE_DIR: join(dir, 'state'),
    REMORA_LOG_LEVEL: 'debug',
  };
  const child = spawn(process.execPath, [remoraPath, 'agent'], { stdio: ['ignore', 'ignore', 'pipe'], env });
  onTestFinished(() => void child.kill('SIGKILL'));
  const ended = once(child, 'close');
  child.stderr.destroy();
  await expect.poll(() => existsSync(socket)).toBe(true);
  expect((await ask(socket, { method: 'POST', target: '/v1/machine/resumed' })).status).toBe(202);
  expect((await ask(socket, { target: '/v1/health' })).status).toBe(200);
  child.kill('SIGTERM');
  expect(await ended).toEqual([0, null]);
});
