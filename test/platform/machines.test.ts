// Machines as real process groups: started, frozen with all their children, thawed, stopped, crashed.
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import Database from 'better-sqlite3';
import { describe, expect, test } from 'vitest';
import type { MachineConfig } from '../../src/contract/machine-config.ts';
import { digestProgramPolicy } from '../../src/core/digest-program-policy.ts';
import { digestRules } from '../../src/core/network-policy/digest-rules.ts';
import { readProcess } from '../../src/linux/processes/process-table.ts';
import { eventually } from '../support/eventually.ts';
import { openFreePort } from '../support/free-port.ts';
import { listMachinePids } from '../support/left-machines.ts';
import { machineCommand, openTestPlatform, readReport, type TestPlatformOptions } from '../support/open-platform.ts';

const name = { organization: 'acme', sprite: 'dev-1' } as const;

async function openWithMachine(options: TestPlatformOptions = {}, config?: MachineConfig) {
  const platform = await openTestPlatform({ agentCommand: machineCommand(), ...options });
  await platform.admin.createSprite({
    organization: 'acme',
    name: 'dev-1',
    ...(config === undefined ? {} : { config }),
  });
  const { id, dir } = await platform.admin.readMachine(name);
  const path = `/v1/apps/acme/machines/${id}`;
  const post = (action: string, body?: unknown) => platform.call({ method: 'POST', path: `${path}/${action}`, body });
  const wait = (query: string) => platform.call({ path: `${path}/wait?${query}` });
  const read = async () => (await platform.call({ path })).json;
  const sprite = async () => (await platform.call({ path: '/v1/sprites/dev-1' })).json;
  return { platform, id, dir, path, post, wait, read, sprite };
}

async function openRunning(options: TestPlatformOptions = {}, config?: MachineConfig) {
  const opened = await openWithMachine(options, config);
  expect((await opened.post('start')).json).toEqual({ previous_state: 'stopped', migrated: false });
  const report = await eventually(() => readReport(opened.dir));
  return { ...opened, report };
}

const stateOf = (pid: number) => readProcess(pid)?.state;
const isGone = (pid: number) => [undefined, 'Z', 'X'].includes(stateOf(pid));

describe('a start', () => {
  test('runs the command in a process group of its own, with a token only it can read', async () => {
    const { report, dir, id, platform, read, sprite } = await openRunning();
    expect(readProcess(report.pid)?.group).toBe(report.pid);
    expect(readProcess(report.child)?.group).toBe(report.pid);
    expect(await read()).toMatchObject({ id, state: 'running', name: 'dev-1', instance_id: expect.any(String) });
    expect(await sprite()).toMatchObject({ status: 'running', last_running_at: expect.any(String) });
    const { env } = report;
    expect(env).toMatchObject({
      REMORA_BASE_URL: platform.url,
      REMORA_MACHINES_API: platform.url,
      REMORA_SPRITE: 'dev-1',
      REMORA_APP: 'acme',
      REMORA_MACHINE: id,
      REMORA_SOCKET: join(dir, 'agent.sock'),
      REMORA_STATE_DIR: join(dir, 'state'),
      FLY_MACHINE_ID: id,
    });
    expect(statSync(env.REMORA_TOKEN_FILE ?? '').mode & 0o777).toBe(0o600);
    const token = readFileSync(env.REMORA_TOKEN_FILE ?? '', 'utf8');
    expect(JSON.stringify(env)).not.toContain(token);
    const headers = { authorization: `Bearer ${token}` };
    expect((await fetch(`${platform.url}/v1/sprites/dev-1`, { headers })).status).toBe(200);
    expect(env).not.toHaveProperty('REMORA_NETWORK_RULES');
    expect(env).not.toHaveProperty('REMORA_PROGRAM_POLICY');
  });

  test('leads the machine to this very process, whatever stands before it', async () => {
    const port = await openFreePort();
    const { report } = await openRunning({
      listen: { host: '127.0.0.1', port },
      publicUrl: `http://localhost:${port}`,
    });
    const { REMORA_BASE_URL, REMORA_MACHINES_API, REMORA_PLAIN_HTTP_HOSTS } = report.env;
    const own = `http://127.0.0.1:${port}`;
    expect([REMORA_BASE_URL, REMORA_MACHINES_API, REMORA_PLAIN_HTTP_HOSTS]).toEqual([own, own, '127.0.0.1']);
  });

  test('tells the machine which policies are to hold before anything runs', async () => {
    const { platform, dir, post } = await openWithMachine();
    const rules = [{ domain: '*', action: 'deny' as const }];
    const db = new Database(join(platform.dir, 'platform.db'));
    db.prepare('INSERT INTO network_policies SELECT id, ?, 1, 1 FROM sprites').run(JSON.stringify(rules));
    const programs = { privileges: { profile: 'minimal' as const, devices: [] }, resources: {} };
    db.prepare('INSERT INTO program_policies SELECT id, ?, 1, 1 FROM sprites').run(JSON.stringify(programs));
    db.close();
    expect((await post('start')).status).toBe(200);
    const { env } = await eventually(() => readReport(dir));
    expect(env.REMORA_NETWORK_RULES).toBe(digestRules([{ action: 'deny', domain: '*' }]));
    expect(env.REMORA_NETWORK_RULES).not.toBe(digestRules([{ action: 'allow', domain: '*' }]));
    expect(env.REMORA_PROGRAM_POLICY).toBe(digestProgramPolicy({ privileges: { profile: 'minimal' }, resources: {} }));
    expect(env.REMORA_PROGRAM_POLICY).not.toBe(
      digestProgramPolicy({ privileges: { profile: 'standard' }, resources: {} }),
    );
  });

  test('takes nothing of the environment of the platform along but what a program needs', async () => {
    process.env.REMORA_TOKEN = 'platform-secret';
    try {
      const { report } = await openRunning();
      expect(JSON.stringify(report.env)).not.toContain('platform-secret');
    } finally {
      delete process.env.REMORA_TOKEN;
    }
  });

  test('of a command that does not exist is refused, and the machine stays stopped', async () => {
    const { post, read } = await openWithMachine({ agentCommand: { command: '/nowhere/agent', args: [] } });
    expect((await post('start')).status).toBe(500);
    expect(await read()).toMatchObject({ state: 'stopped' });
  });

  test('without a command says what is missing', async () => {
    const platform = await openTestPlatform();
    await platform.admin.createSprite({ organization: 'acme', name: 'dev-1' });
    const { id } = await platform.admin.readMachine(name);
    const answer = await platform.call({ method: 'POST', path: `/v1/apps/acme/machines/${id}/start` });
    expect(answer.json).toMatchObject({ error: 'not_configured' });
  });

  test('ends the token of the instance before', async () => {
    const { dir, platform, post, wait } = await openRunning();
    const first = readFileSync(join(dir, 'token'), 'utf8');
    await post('stop');
    await wait('state=stopped');
    await post('start');
    expect(readFileSync(join(dir, 'token'), 'utf8')).not.toBe(first);
    const headers = { authorization: `Bearer ${first}` };
    expect((await fetch(`${platform.url}/v1/sprites/dev-1`, { headers })).status).toBe(401);
  });
});

describe('a suspend', () => {
  test('is answered first, then freezes the whole group, and a start thaws it', async () => {
    // The question for its state comes before the freeze, also on a machine with much other work.
    const { report, dir, post, wait, read, sprite } = await openRunning({ freezeDelay_ms: 1_500 });
    const before = await read();
    expect((await post('suspend')).json).toEqual({ ok: true });
    expect(await read()).toMatchObject({ state: 'suspending' });
    expect((await wait('state=suspended')).json).toEqual({ ok: true });
    expect([stateOf(report.pid), stateOf(report.child)]).toEqual(['T', 'T']);
    expect(await sprite()).toMatchObject({ status: 'warm', last_warming_at: expect.any(String) });
    const frozenAt = readReport(dir)?.ticks ?? 0;
    expect((await post('start')).json).toEqual({ previous_state: 'suspended', migrated: false });
    const after = await eventually(() => {
      const now = readReport(dir);
      return now !== undefined && now.ticks > frozenAt + 2 && now;
    });
    expect(after.pid).toBe(report.pid);
    // It was let go on, and sleeps again once it has run.
    await eventually(() => stateOf(report.child) === 'S');
    expect(await read()).toMatchObject({ state: 'running', instance_id: before.instance_id });
  });

  test('is called off by a start that comes before the freeze', async () => {
    const { report, post, wait, read } = await openRunning({ freezeDelay_ms: 1_500 });
    await post('suspend');
    expect((await post('start')).json).toMatchObject({ previous_state: 'suspending' });
    expect(await read()).toMatchObject({ state: 'running' });
    expect((await wait('state=suspended&timeout=2')).status).toBe(408);
    expect(stateOf(report.pid)).not.toBe('T');
  });

  test('is refused when the machine does not run, with its state', async () => {
    const { post } = await openWithMachine();
    const answer = await post('suspend');
    expect(answer.status).toBe(409);
    expect(answer.json).toMatchObject({ error: 'invalid_state', details: { state: 'stopped' } });
  });

  test('is refused a second time while the first is under way', async () => {
    const { post } = await openRunning({ freezeDelay_ms: 200 });
    expect((await post('suspend')).status).toBe(200);
    expect((await post('suspend')).status).toBe(409);
  });

  test('is refused with every condition that the configuration fails', async () => {
    const platform = await openTestPlatform({ agentCommand: machineCommand() });
    const config = { guest: { memory_mb: 4_096 }, init: { swap_size_mb: 512 }, schedule: 'daily' };
    await platform.admin.createSprite({ organization: 'acme', name: 'dev-1', config });
    await platform.admin.startMachine(name);
    const { id } = await platform.admin.readMachine(name);
    const answer = await platform.call({ method: 'POST', path: `/v1/apps/acme/machines/${id}/suspend` });
    expect(answer.status).toBe(422);
    expect(answer.json.error).toBe('not_eligible');
    const failing = answer.json.details.conditions.filter((item: { verdict: string }) => item.verdict === 'fails');
    expect(failing.map((item: { condition: string }) => item.condition)).toEqual(['memory', 'swap', 'schedule']);
    expect((await platform.admin.readMachine(name)).state).toBe('running');
  });
});

describe('a stop', () => {
  test('ends the machine with its children, and a start begins another instance', async () => {
    const { report, dir, post, wait, read, sprite } = await openRunning();
    const before = await read();
    expect((await post('stop')).json).toEqual({ ok: true });
    expect((await wait('state=stopped')).json).toEqual({ ok: true });
    expect([isGone(report.pid), isGone(report.child)]).toEqual([true, true]);
    expect(await read()).toMatchObject({ last_exit: { signal: 'SIGTERM', requested: true } });
    expect(await sprite()).toMatchObject({ status: 'cold' });
    expect((await post('start')).json).toMatchObject({ previous_state: 'stopped' });
    const next = await eventually(() => {
      const now = readReport(dir);
      return now !== undefined && now.pid !== report.pid && now;
    });
    expect(isGone(next.pid)).toBe(false);
    expect((await read()).instance_id).not.toBe(before.instance_id);
  });

  test('reaches a frozen machine', async () => {
    const { report, post, wait } = await openRunning();
    await post('suspend');
    await wait('state=suspended');
    await post('stop');
    expect((await wait('state=stopped&timeout=30')).status).toBe(200);
    expect([isGone(report.pid), isGone(report.child)]).toEqual([true, true]);
  });

  test('uses force on a machine that does not end', async () => {
    const { report, post, wait, read } = await openRunning({ agentCommand: machineCommand('stubborn') });
    await post('stop', { timeout: '200ms' });
    expect((await wait('state=stopped&timeout=30')).status).toBe(200);
    expect([isGone(report.pid), isGone(report.child)]).toEqual([true, true]);
    expect(await read()).toMatchObject({ last_exit: { signal: 'SIGKILL', requested: true } });
  });

  test('of a stopped machine does nothing', async () => {
    const { post, read } = await openWithMachine();
    expect((await post('stop')).status).toBe(200);
    expect(await read()).toMatchObject({ state: 'stopped' });
  });

  test('names what is wrong with its signal and its timeout', async () => {
    const { post } = await openRunning();
    for (const [field, body] of [
      ['body.signal', { signal: 'SIGSTOP' }],
      ['body.timeout', { timeout: 'soon' }],
    ] as const) {
      const answer = await post('stop', body);
      expect(answer.status).toBe(400);
      expect(answer.json.details.fields[0].field).toBe(field);
    }
  });
});

describe('a start that fails', () => {
  test('because the machine ends before its agent has reported says so, with the last lines of its log', async () => {
    const { post, wait, read } = await openWithMachine({ agentCommand: machineCommand('crash') });
    const waiting = wait('state=running');
    const answer = await post('start');
    expect([answer.status, answer.json.error]).toEqual([504, 'start_failed']);
    expect(answer.json.message).toContain('its log: nothing works here | [31mgiving up');
    expect(answer.json.details.log).toEqual(['nothing works here', '[31mgiving up']);
    expect(await waiting).toMatchObject({ status: 409, json: { error: 'invalid_state' } });
    expect(await read()).toMatchObject({ state: 'stopped', last_exit: { exit_code: 7, requested: false } });
    await sleep(200);
    expect(await read()).toMatchObject({ state: 'stopped' });
  });

  test('because the agent does not report in time ends the machine', async () => {
    const options = { agentCommand: machineCommand('silent'), startDeadline_ms: 4_000 };
    const { post, read, platform } = await openWithMachine(options);
    const starting = post('start');
    // Its program may need longer than this deadline to say anything.
    const pid = await eventually(() => listMachinePids(platform.dir)[0]);
    expect(await read()).toMatchObject({ state: 'starting' });
    expect((await post('start')).status).toBe(504);
    expect(await starting).toMatchObject({ status: 504, json: { message: expect.stringContaining('within 4 s') } });
    expect(isGone(pid)).toBe(true);
    expect(await read()).toMatchObject({ state: 'stopped' });
  });

  test('because it is stopped meanwhile is told as such', async () => {
    const { post, wait, dir } = await openWithMachine({ agentCommand: machineCommand('silent') });
    const starting = post('start');
    await eventually(() => readReport(dir));
    await post('stop');
    expect(await starting).toMatchObject({ status: 409, json: { error: 'invalid_state' } });
    expect((await wait('state=stopped&timeout=30')).status).toBe(200);
  });
});

describe('a crash', () => {
  const never: MachineConfig = { restart: { policy: 'no' } };

  test('leaves a machine that is not to restart stopped, its children ended, and the exit told', async () => {
    const { report, wait, read } = await openRunning({}, never);
    process.kill(report.pid, 'SIGKILL');
    expect((await wait('state=stopped&timeout=30')).status).toBe(200);
    expect(isGone(report.child)).toBe(true);
    expect(await read()).toMatchObject({ last_exit: { signal: 'SIGKILL', requested: false } });
  });

  test('at once after the start is told with its exit code', async () => {
    const { post, wait, read } = await openWithMachine({ agentCommand: machineCommand('crash-later') }, never);
    await post('start');
    expect((await wait('state=stopped&timeout=30')).status).toBe(200);
    expect(await read()).toMatchObject({ last_exit: { exit_code: 7, requested: false } });
  });

  test('of a frozen machine leaves it suspended without its memory: nothing starts it, and the next start is a cold one', async () => {
    const { report, post, wait, read } = await openRunning();
    await post('suspend');
    await wait('state=suspended');
    process.kill(report.pid, 'SIGKILL');
    await eventually(async () => (await read()).last_exit !== undefined);
    expect(isGone(report.child)).toBe(true);
    await sleep(200);
    expect(await read()).toMatchObject({ state: 'suspended', last_exit: { requested: false, signal: 'SIGKILL' } });
    const started = await post('start');
    expect(started.json).toEqual({ previous_state: 'suspended', cold_start: 'lost', migrated: false });
  });

  test('is followed by a start, again and again, until somebody stops it', async () => {
    const { post, read, wait } = await openWithMachine({ agentCommand: machineCommand('crash-later') });
    await post('start');
    const instances = new Set<string>();
    await eventually(async () => instances.add((await read()).instance_id).size >= 3, 50_000);
    await post('stop');
    expect((await wait('state=stopped&timeout=30')).status).toBe(200);
    const { instance_id } = await read();
    await sleep(200);
    expect(await read()).toMatchObject({ state: 'stopped', instance_id });
  });

  test.each([
    ['always', true],
    ['on-failure', false],
  ] as const)('of a machine that ends well is none: under %s it is started again: %s', async (policy, isAgain) => {
    const options = { agentCommand: machineCommand('end-later') };
    const { post, read, wait } = await openWithMachine(options, { restart: { policy } });
    await post('start');
    const first = (await read()).instance_id;
    if (isAgain) await eventually(async () => (await read()).instance_id !== first);
    else {
      expect((await wait('state=stopped&timeout=30')).status).toBe(200);
      await sleep(200);
      expect(await read()).toMatchObject({ state: 'stopped', instance_id: first, last_exit: { exit_code: 0 } });
    }
  });
});

test('every move of a machine moves its updated_at, and nothing else does', async () => {
  const { read, post, wait } = await openRunning();
  const times = [(await read()).updated_at];
  expect((await read()).updated_at).toBe(times[0]);
  for (const [action, state] of [
    ['suspend', 'suspended'],
    ['start', 'running'],
    ['stop', 'stopped'],
  ] as const) {
    await sleep(2);
    await post(action);
    await wait(`state=${state}`);
    times.push((await read()).updated_at);
  }
  expect(times).toEqual([...new Set(times)].sort());
  expect(times[0] > (await read()).created_at).toBe(true);
});

describe('a wait', () => {
  test('is answered at once when it is already so; started means running', async () => {
    const { wait } = await openRunning();
    expect((await wait('state=started')).status).toBe(200);
    expect((await wait('')).status).toBe(200);
    expect((await wait('state=running&timeout=1')).status).toBe(200);
  });

  test('is answered 408 at its limit', async () => {
    const { wait } = await openRunning();
    const start = performance.now();
    const answer = await wait('state=suspended&timeout=1');
    expect(answer.status).toBe(408);
    expect(answer.json.error).toBe('timeout');
    expect(performance.now() - start).toBeGreaterThan(950);
  });

  test('is refused for a word that is no state', async () => {
    const { wait } = await openRunning();
    const answer = await wait('state=asleep');
    expect(answer.status).toBe(400);
    expect(answer.json.details.fields[0].field).toBe('query.state');
  });

  test('is answered 409 when the instance that is meant is over, and is not satisfied by another one', async () => {
    const { post, wait, read } = await openRunning();
    const first = (await read()).instance_id;
    const pending = wait(`state=suspended&instance_id=${first}`);
    await post('stop');
    await wait('state=stopped');
    expect((await pending).status).toBe(409);
    expect((await wait(`state=stopped&instance_id=${first}`)).status).toBe(200);
    await post('start');
    const late = await wait(`state=running&instance_id=${first}`);
    expect(late.status).toBe(409);
    expect(late.json).toMatchObject({ error: 'invalid_state', details: { state: 'running' } });
    expect((await wait(`state=running&instance_id=${(await read()).instance_id}`)).status).toBe(200);
  });

  test('is answered 409 when the machine is destroyed', async () => {
    const { platform, wait, path, report } = await openRunning();
    const pending = wait('state=suspended');
    await platform.call({ path });
    await platform.admin.destroyMachine(name);
    const answer = await pending;
    expect([answer.status, answer.json.error]).toEqual([409, 'invalid_state']);
    expect((await platform.call({ path })).status).toBe(404);
    expect(isGone(report.pid)).toBe(true);
  });

  test('by twenty callers at once is answered for each', async () => {
    const { post, wait } = await openRunning();
    const pending = Array.from({ length: 20 }, () => wait('state=suspended'));
    await post('suspend');
    const statuses = (await Promise.all(pending)).map((answer) => answer.status);
    expect(statuses).toEqual(Array.from({ length: 20 }, () => 200));
  });
});

test('everything asked at once leaves one machine in one state', async () => {
  const { platform, post, read, dir } = await openRunning();
  const actions = ['suspend', 'start', 'stop', 'start', 'suspend', 'stop', 'start', 'start'];
  const answers = await Promise.all(actions.map((action) => post(action)));
  expect(answers.every((answer) => answer.status === 200 || answer.status === 409)).toBe(true);
  await platform.admin.startMachine(name);
  expect(await read()).toMatchObject({ state: 'running' });
  const { pid } = await eventually(() => readReport(dir));
  await platform.admin.stopMachine(name);
  expect(isGone(pid)).toBe(true);
});
