// The real daemon against a real platform: restarted, copied, rewound, resumed.
import { cpSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { resumedFields } from '../../../src/contract/local/resume.ts';
import { resumeReporterStatus } from '../../../src/contract/local/resume-reports.ts';
import { Secret } from '../../../src/core/secret.ts';
import { type AgentProcess, startAgent } from '../../support/agent-process.ts';
import { openTestPlatform, type TestPlatformOptions } from '../../support/open-platform.ts';
import { readLines } from '../../support/read-lines.ts';
import { tempDir } from '../../support/temp-dir.ts';

const name = { organization: 'acme', sprite: 'dev-1' } as const;
const soon = { timeout: 60_000 };
/** What is said of a step that took too long. */
const LATE = /(within|longer than) \d+ ms$/;

const shown = z.object({
  generation: z.int(),
  incarnation: z.string(),
  parts: z.object({ machine: z.object({ state: z.string(), reason: z.string().optional() }) }),
  details: z.object({ report: resumeReporterStatus }),
});

async function open(options: TestPlatformOptions = {}, external = false) {
  const provider = createServer((_request, response) => response.end('from the provider'));
  await new Promise<void>((resolve) => provider.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    provider.closeAllConnections();
    provider.close();
  });
  const platform = await openTestPlatform({
    catalogue: [
      {
        provider: 'openai',
        display_name: 'x',
        description: 'of the test',
        address: { type: 'fixed', url: `http://127.0.0.1:${(provider.address() as AddressInfo).port}` },
        injection: { in: 'header', name: 'x-api-key', prefix: '' },
        allow_http: true,
        sample_path: '/',
      },
    ],
    ...options,
  });
  const { admin } = platform;
  await admin.createSprite({ organization: 'acme', name: name.sprite, external });
  const access_policy = { allow_all: true };
  const api_key = new Secret('k');
  await admin.createConnector({ organization: 'acme', provider: 'openai', api_key, id: 'conn_1', access_policy });
  const { app, id } = await admin.readMachine(name);
  const env = {
    REMORA_BASE_URL: platform.url,
    REMORA_MACHINES_API: platform.url,
    REMORA_TOKEN: (await admin.createToken(name)).reveal(),
    REMORA_SPRITE: name.sprite,
    REMORA_APP: app,
    REMORA_MACHINE: id,
  };
  /** Starts with the state of `from`, which must not run, or no longer. */
  async function start(from?: string): Promise<AgentProcess> {
    const dir = tempDir();
    if (from !== undefined) cpSync(from, join(dir, 'state'), { recursive: true });
    return await startAgent(env, dir);
  }
  return { platform, env, start };
}

const read = async (agent: AgentProcess) => shown.parse((await agent.get('/v1/status')).json);
const reported = (agent: AgentProcess, ok: boolean) =>
  expect.poll(async () => (await read(agent)).details.report.ok, soon).toBe(ok);
const resume = (agent: AgentProcess) => agent.ask({ method: 'POST', target: '/v1/machine/resumed' });
const callProvider = (agent: AgentProcess) => agent.get('/v1/gateway/openai/conn_1/v1/models');
const stateOf = (agent: AgentProcess) => join(agent.dir, 'state');

async function kill(agent: AgentProcess): Promise<void> {
  agent.child.kill('SIGKILL');
  await agent.ended;
}

test('a restart is the same incarnation, also after a kill, and a resume is another', async () => {
  const { env, start } = await open();
  const first = await start();
  await reported(first, true);
  const before = await read(first);
  expect(before).toMatchObject({ generation: 0, parts: { machine: { state: 'ok' } } });
  await kill(first);

  const second = await startAgent(env, first.dir);
  await reported(second, true);
  expect(await read(second)).toMatchObject({ generation: 0, incarnation: before.incarnation });
  await resume(second);
  await expect.poll(async () => (await read(second)).generation, soon).toBe(1);
  await expect.poll(async () => (await callProvider(second)).text, soon).toBe('from the provider');
  const resumed = await read(second);
  expect(resumed.incarnation).not.toBe(before.incarnation);
  await kill(second);

  const third = await startAgent(env, first.dir);
  await reported(third, true);
  expect(await read(third)).toMatchObject({ generation: 1, incarnation: resumed.incarnation });
});

test('the second of two copies that are resumed says so and is refused, and so is one that was left behind', async () => {
  const { start } = await open();
  const seed = await start();
  await reported(seed, true);
  await kill(seed);
  const [one, other] = [await start(stateOf(seed)), await start(stateOf(seed))];
  for (const agent of [one, other]) {
    await reported(agent, true);
    await expect.poll(async () => (await callProvider(agent)).status, soon).toBe(200);
  }
  const lines = await readLines('/v1/events?types=fenced_off', other.socket);
  await lines.next();

  await resume(one);
  await expect.poll(async () => (await read(one)).generation, soon).toBe(1);
  await reported(one, true);
  await expect.poll(async () => (await callProvider(one)).status, soon).toBe(200);
  await resume(other);
  await reported(other, false);
  expect(await lines.next()).toMatchObject({ type: 'fenced_off', code: 'incarnation_conflict', known_generation: 1 });
  const { parts } = await read(other);
  expect(parts.machine).toMatchObject({
    state: 'degraded',
    reason: expect.stringMatching(/snapshot.*remora machine adopt/),
  });
  expect(await callProvider(other)).toMatchObject({
    status: 409,
    json: { error: 'incarnation_conflict', details: { generation: 1 } },
  });
  expect((await callProvider(one)).status).toBe(200);

  const old = await start(stateOf(seed));
  await reported(old, false);
  expect(await read(old)).toMatchObject({
    generation: 0,
    parts: { machine: { state: 'degraded', reason: expect.stringMatching(/generation 1/) } },
  });
});

test('a resume with a spread waits for its time, and tells how long', async () => {
  const { platform, start } = await open({ reconnectSpread_ms: 500 });
  const { admin } = platform;
  await admin.createSprite({ organization: 'acme', name: 'dev-2' });
  const headers = { 'remora-generation': '0', 'remora-incarnation': 'ab'.repeat(16) };
  const token = await admin.createToken({ organization: 'acme', sprite: 'dev-2' });
  await platform.call({ path: '/v1/sprites/dev-2', token, headers });
  const agent = await start();
  await expect.poll(async () => (await read(agent)).details.report.reconnect_spread_ms, soon).toBe(500);
  const lines = await readLines('/v1/events?types=resumed', agent.socket);
  await lines.next();
  await resume(agent);
  const event = resumedFields.parse(await lines.next());
  const names = event.steps.map((step) => step.name);
  expect(names.slice(names.indexOf('spread'))).toEqual([
    'spread',
    'report',
    'channel',
    'policy',
    'stream',
    'ports',
    'hooks',
  ]);
  // A step can miss its deadline on a machine with other work; it must not fail otherwise.
  expect(event.steps.filter(({ ok, reason = '' }) => !ok && !LATE.test(reason))).toEqual([]);
});

describe('an agent that draws what its copy draws', () => {
  const equal = { NODE_OPTIONS: `--import ${new URL('../../support/equal-randomness.ts', import.meta.url).pathname}` };
  const tokenOf = async (agent: AgentProcess) =>
    z.object({ token: z.string() }).parse((await agent.ask({ method: 'POST', target: '/v1/gateway/tokens' })).json)
      .token;

  test('is told apart by the nonce of the platform: the second of the two is refused, and draws of its own follow', async () => {
    const { env, platform } = await open();
    // The machine of the snapshot: an agent that has not met the platform yet.
    const seed = await startAgent(equal);
    const { incarnation } = await read(seed);
    await kill(seed);
    const dirs = [tempDir(), tempDir()];
    for (const dir of dirs) cpSync(stateOf(seed), join(dir, 'state'), { recursive: true });
    const agents = await Promise.all(dirs.map((dir) => startAgent({ ...env, ...equal }, dir)));
    const incarnations = await Promise.all(agents.map(read));
    expect(incarnations.map((each) => each.incarnation)).toEqual([incarnation, incarnation]);
    await expect
      .poll(async () => (await Promise.all(agents.map(read))).map(({ details }) => details.report.ok).sort(), soon)
      .toEqual([false, true]);
    const states = await Promise.all(agents.map(read));
    const first = agents[states[0]?.details.report.ok === true ? 0 : 1];
    const second = agents[states[0]?.details.report.ok === true ? 1 : 0];
    if (first === undefined || second === undefined) throw new Error('one of the two is served');
    expect((await read(second)).details.report.reason).toMatch(/same snapshot/);
    expect((await read(second)).parts.machine).toMatchObject({ state: 'degraded' });
    // Nothing goes out at all without a policy, which the platform gives to the other one alone.
    expect([409, 503]).toContain((await callProvider(second)).status);
    await expect.poll(async () => (await callProvider(first)).text, soon).toBe('from the provider');
    expect(await tokenOf(first)).not.toBe(await tokenOf(second));
    expect((await read(first)).details.report.nonce).toBe(true);

    await kill(first);
    const again = await startAgent({ ...env, ...equal }, first.dir);
    await reported(again, true);
    await expect.poll(async () => (await callProvider(again)).text, soon).toBe('from the provider');
    // The agents have the token of the sprite, which opens no channel.
    expect(platform.log.filter(({ audit }) => audit !== undefined && audit !== 'channel_refused')).toEqual([]);
  });

  test('does not wait for ever for a platform that does not answer, and says what that means', async () => {
    const silent = createServer(() => undefined);
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => {
      silent.closeAllConnections();
      silent.close();
    });
    const url = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`;
    const names = { REMORA_APP: 'acme', REMORA_MACHINE: 'm1', REMORA_SPRITE: 'dev-1' };
    const agent = await startAgent({ REMORA_BASE_URL: url, REMORA_TOKEN: 't', ...names });
    expect(await tokenOf(agent)).toMatch(/^remora_cap_/);
    const status = z.object({ details: z.object({ resume: z.object({ blind_spots: z.array(z.string()) }) }) });
    const { blind_spots } = status.parse((await agent.get('/v1/status')).json).details.resume;
    expect(blind_spots.join()).toMatch(/not told this incarnation apart/);
  });
});

test('an agent with a new state directory takes over a machine that is run elsewhere, and goes on one generation above', async () => {
  const { start, platform, env } = await open({}, true);
  const seed = await start();
  await reported(seed, true);
  await resume(seed);
  await expect.poll(async () => (await read(seed)).generation, soon).toBe(1);
  await reported(seed, true);
  await expect.poll(async () => (await callProvider(seed)).text, soon).toBe('from the provider');

  const next = await start();
  await expect.poll(async () => (await read(next)).generation, soon).toBe(2);
  await reported(next, true);
  await expect.poll(async () => (await callProvider(next)).text, soon).toBe('from the provider');
  expect(readFileSync(join(next.dir, 'generation'), 'utf8').trim()).toBe('2');
  await expect.poll(async () => (await callProvider(seed)).status, soon).toBe(409);
  expect(platform.log.filter((line) => line.audit === 'machine_taken_over')).toHaveLength(1);

  await kill(next);
  const again = await startAgent(env, next.dir);
  await reported(again, true);
  expect(await read(again)).toMatchObject({ generation: 2 });
});

test('an agent with a new state directory is refused where the platform runs the machine, until the operator adopts it', async () => {
  const { start, platform, env } = await open();
  const seed = await start();
  await reported(seed, true);
  await resume(seed);
  await expect.poll(async () => (await read(seed)).generation, soon).toBe(1);
  await reported(seed, true);

  const next = await start();
  await reported(next, false);
  const { parts } = await read(next);
  expect(parts.machine.reason).toMatch(/remora machine adopt/);
  await kill(next);
  const path = `/v1/apps/${env.REMORA_APP}/machines/${env.REMORA_MACHINE}/adopt`;
  expect((await platform.call({ method: 'POST', path })).status).toBe(200);
  const again = await startAgent(env, next.dir);
  await reported(again, true);
  expect(await read(again)).toMatchObject({ generation: 2 });
});
