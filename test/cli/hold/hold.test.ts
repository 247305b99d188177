import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type HoldAgent, startHoldAgent } from '../../support/hold-agent.ts';
import { runHere } from '../../support/run-here.ts';
import { remoraPath, runRemora } from '../../support/run-remora.ts';
import { tempDir } from '../../support/temp-dir.ts';

const UNTIL = { timeout: 60_000 };

async function setUp() {
  const dir = tempDir();
  const socket = join(dir, 'agent.sock');
  const agent = await startHoldAgent(socket, dir);
  return { dir, socket, agent };
}

/** `remora hold` that goes on; its command writes its pid into a file and sleeps. */
function startHold(dir: string, socket: string, flags: readonly string[] = [], command?: string) {
  const pidFile = join(dir, 'pid');
  const script = command ?? `echo $$ > ${pidFile}.new; mv ${pidFile}.new ${pidFile}; exec sleep 60`;
  const words = ['hold', '--socket', socket, '--name', 'job', ...flags, '--', 'sh', '-c', script];
  const child = spawn(process.execPath, [remoraPath, ...words], { stdio: ['ignore', 'pipe', 'pipe'] });
  let stderr = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  const exited = once(child, 'exit').then(([code, signal]: (number | string | null)[]) => code ?? signal);
  const commandPid = async (): Promise<number> => {
    await expect.poll(() => existsSync(pidFile), UNTIL).toBe(true);
    return Number(readFileSync(pidFile, 'utf8'));
  };
  onTestFinished(async () => {
    child.kill('SIGKILL');
    if (existsSync(pidFile)) endQuietly(Number(readFileSync(pidFile, 'utf8')));
    await exited;
  });
  return { child, exited, commandPid, stderr: () => stderr };
}

function endQuietly(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It is gone already.
  }
}

function isRunning(pid: number): boolean {
  try {
    return !readFileSync(`/proc/${pid}/stat`, 'latin1').includes(') Z ');
  } catch {
    return false;
  }
}

const held = (agent: HoldAgent) => expect.poll(() => agent.names(), UNTIL);

describe('remora hold', () => {
  it('holds while the command runs, and gives back its output and its exit code', async () => {
    const { socket } = await setUp();
    const list = `"$0" "$1" tasks --socket ${socket} --json; exit 7`;
    const words = ['--name', 'job', '--reason', 'nightly backup', '--', 'sh', '-c', list, process.execPath, remoraPath];
    const run = await runRemora(['hold', '--socket', socket, ...words]);
    expect(run).toMatchObject({ code: 7, stderr: '' });
    expect(JSON.parse(run.stdout)).toMatchObject({
      tasks: [{ name: 'job', reason: 'nightly backup', mode: 'block', connection: true }],
    });
  });

  it('lets go when the command ends', async () => {
    const { socket, agent } = await setUp();
    expect(await runRemora(['hold', '--socket', socket, '--', 'true'])).toMatchObject({ code: 0, stderr: '' });
    await held(agent).toEqual([]);
  });

  it('names the hold after the command', async () => {
    const { dir, socket, agent } = await setUp();
    const child = spawn(
      process.execPath,
      [remoraPath, 'hold', '--socket', socket, '--mode', 'delay', '--', 'sleep', '60'],
      {
        cwd: dir,
      },
    );
    onTestFinished(() => void child.kill('SIGTERM'));
    await held(agent).toEqual([`sleep-${child.pid}`]);
    expect(agent.holds.list()).toMatchObject([{ mode: 'delay' }]);
  });

  it.each(['SIGTERM', 'SIGINT', 'SIGHUP'] as const)('passes %s on and ends as the command does', async (signal) => {
    const { dir, socket, agent } = await setUp();
    const { child, exited, commandPid } = startHold(dir, socket);
    const pid = await commandPid();
    expect(agent.names()).toEqual(['job']);
    child.kill(signal);
    expect(await exited).toBe({ SIGTERM: 143, SIGINT: 130, SIGHUP: 129 }[signal]);
    expect(isRunning(pid)).toBe(false);
    await held(agent).toEqual([]);
  });

  it('waits for a command that takes its time after a signal', async () => {
    const { dir, socket, agent } = await setUp();
    const ready = join(dir, 'ready');
    const done = join(dir, 'done');
    const script = `trap 'while [ ! -e ${done} ]; do sleep 0.05; done; exit 5' TERM; touch ${ready}; while :; do sleep 0.05; done`;
    const { child, exited } = startHold(dir, socket, [], script);
    await expect.poll(() => existsSync(ready), UNTIL).toBe(true);
    child.kill('SIGTERM');
    await held(agent).toEqual(['job']);
    writeFileSync(done, '');
    expect(await exited).toBe(5);
  });

  it('ends with 137 when its command is killed', async () => {
    const { dir, socket, agent } = await setUp();
    const { exited, commandPid } = startHold(dir, socket);
    process.kill(await commandPid(), 'SIGKILL');
    expect(await exited).toBe(137);
    await held(agent).toEqual([]);
  });

  it('lets go when it is killed itself', async () => {
    const { dir, socket, agent } = await setUp();
    const { child, commandPid } = startHold(dir, socket);
    const pid = await commandPid();
    child.kill('SIGKILL');
    await held(agent).toEqual([]);
    expect(isRunning(pid)).toBe(true);
  });

  it('holds again after a restart of the agent, while the command runs on', async () => {
    const { dir, socket, agent } = await setUp();
    const { commandPid, stderr } = startHold(dir, socket);
    const pid = await commandPid();
    await agent.stop();
    await expect.poll(stderr, UNTIL).toContain('the machine is not held awake');
    const next = await startHoldAgent(socket, dir);
    await held(next).toEqual(['job']);
    await expect.poll(stderr, UNTIL).toContain('the machine is held awake by job');
    expect(isRunning(pid)).toBe(true);
    expect(stderr().trim().split('\n')).toHaveLength(2);
  });
});

describe('remora hold without a hold', () => {
  it('does not run the command when there is no agent, and says so', async () => {
    const dir = tempDir();
    const mark = join(dir, 'ran');
    const run = await runHere(['hold', '--socket', join(dir, 'none.sock'), '--', 'touch', mark]);
    expect(run.code).toBe(3);
    expect(run.err).toMatch(/no agent answers.*none\.sock/);
    expect(existsSync(mark)).toBe(false);
  });

  it('does not run it either when the name is taken', async () => {
    const { dir, socket, agent } = await setUp();
    const fields = { mode: 'block', reason: undefined, connection: false, pid: undefined } as const;
    agent.holds.put({ ...fields, name: 'job', expire_ms: 60_000 });
    const mark = join(dir, 'ran');
    const run = await runHere(['hold', '--socket', socket, '--name', 'job', '--', 'touch', mark]);
    expect(run.code).toBe(1);
    expect(run.err).toContain('the hold job exists');
    expect(existsSync(mark)).toBe(false);
  });

  it('runs it with --best-effort, says so, and holds as soon as it can', async () => {
    const dir = tempDir();
    const socket = join(dir, 'late.sock');
    const { commandPid, stderr } = startHold(dir, socket, ['--best-effort']);
    await commandPid();
    await expect.poll(stderr, UNTIL).toContain('the machine is not held awake (no agent answers');
    const agent = await startHoldAgent(socket, dir);
    await held(agent).toEqual(['job']);
  });

  it.each([
    ['there is no such command', '/nonexistent/command', 127],
    ['cannot be run', '', 126],
  ])('says that %s', async (message, given, code) => {
    const { dir, socket, agent } = await setUp();
    const plain = join(dir, 'plain');
    writeFileSync(plain, 'text');
    chmodSync(plain, 0o644);
    const run = await runRemora(['hold', '--socket', socket, '--', given === '' ? plain : given]);
    expect(run.code).toBe(code);
    expect(run.stderr).toContain(message);
    await held(agent).toEqual([]);
  });

  it.each([
    [['hold'], /expected -- COMMAND ARGS/],
    [['hold', 'sleep', '-x'], /Unknown option '-x'/],
    [['hold', '--mode', 'hard', '--', 'true'], /--mode takes block or delay/],
  ])('refuses %j', async (words, message) => {
    const run = await runHere(words);
    expect(run.code).toBe(2);
    expect(run.err).toMatch(message);
  });
});

describe('why the machine is awake', () => {
  it('is told by `remora idle` and `remora tasks`, to people and to programs', async () => {
    const { socket, agent } = await setUp();
    const ask = (...words: string[]) => runHere([...words, '--socket', socket]);
    expect((await ask('tasks')).out).toBe('no hold is in force');
    expect((await ask('idle')).out).toMatch(/^machine +idle since 2.*Z\nlast work .*\nsuspends +never by itself/);
    const fields = { mode: 'block', connection: false, pid: process.pid } as const;
    agent.holds.put({ ...fields, name: 'build', reason: 'compiling', expire_ms: 600_000 });
    expect((await ask('tasks')).out).toMatch(
      new RegExp(`build +block +pid ${process.pid} +2.*Z +(10 min|9 min 5\\d s) +compiling`),
    );
    const idle = await ask('idle');
    expect(idle).toMatchObject({ code: 0, err: '' });
    expect(idle.out).toMatch(/^machine +at work\n/);
    expect(idle.out).toMatch(new RegExp(`hold +build +2.*Z +compiling; pid ${process.pid}`));
    expect(idle.out).toContain('Not counted as work:\n  health checks');
    expect(JSON.parse((await ask('idle', '--json')).out)).toMatchObject({ idle: false, idle_suspend: 'off' });
  });
});
