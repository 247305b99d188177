// Processes over the WebSocket of a real supervisor: frames, exit codes, signals, back-pressure, and what a lost connection ends.
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { signalProcess } from '../../../src/linux/processes/signal-process.ts';
import { openOnce } from '../../support/at-end.ts';
import { eventually } from '../../support/eventually.ts';
import { openExec, runExec, toExecQuery } from '../../support/exec-socket.ts';
import { memoryOf } from '../../support/memory-of.ts';
import { findPids, startSupervisor } from '../../support/supervisor-process.ts';

/** Serves the tests that neither end it nor count what runs in it. */
const shared = openOnce(startSupervisor);

const sh = (script: string) => ['sh', '-c', script];

test('output comes apart, then the exit code, then the close', async () => {
  const { socket } = shared();
  expect(await runExec(socket, sh('echo out; echo err >&2; exit 7'))).toEqual({
    exit_code: 7,
    code: 1000,
    stdout: 'out\n',
    stderr: 'err\n',
  });
  expect(await runExec(socket, ['printenv', 'A', 'B'], { env: 'A=one=two' })).toMatchObject({ stdout: 'one=two\n' });
  expect(await runExec(socket, ['pwd'], { dir: '/usr' })).toMatchObject({ stdout: '/usr\n', exit_code: 0 });
  expect(await runExec(socket, ['cat'])).toMatchObject({ stdout: '', exit_code: 0 });
});

test('what cannot be started ends as in a shell, with a line that says why', async () => {
  const { socket, dir } = shared();
  const missing = await runExec(socket, ['no-such-program']);
  expect(missing).toEqual({
    exit_code: 127,
    code: 1000,
    stdout: '',
    stderr: 'there is no program no-such-program in PATH\n',
  });
  const file = join(dir, 'file');
  writeFileSync(file, '');
  chmodSync(file, 0o644);
  expect(await runExec(socket, [file])).toMatchObject({
    exit_code: 126,
    stderr: `${file} is not executable; chmod +x it\n`,
  });
  expect(await runExec(socket, ['true'], { dir: '/none' })).toMatchObject({ exit_code: 126 });
});

test.each([
  ['nothing to run', ''],
  ['a variable whose name is a command', `?${toExecQuery(['true'], { env: '$(id)=1' })}`],
  ['a size that is no number', `?${toExecQuery(['true'], { rows: 'x' })}`],
  ['a duration that is none', `?${toExecQuery(['true'], { max_run_after_disconnect: 'soon' })}`],
])('%s is refused before the switch', async (_what, query) => {
  const { socket } = shared();
  await expect(openExec(socket, query)).rejects.toThrow('400');
});

test('stdin arrives, and its end', async () => {
  const { socket } = shared();
  const caller = await openExec(socket, `?${toExecQuery(['cat'], { stdin: 'true' })}`);
  caller.stdin('one ');
  caller.stdin('two');
  caller.endStdin();
  expect(await caller.ended()).toEqual({ exit_code: 0, code: 1000 });
  expect(caller.text('stdout')).toBe('one two');
});

test('a signal ends the process with 128 and its number, in either kind of frame', async () => {
  const { socket } = shared();
  for (const [isBinary, signal, exit_code] of [
    [false, 'SIGTERM', 143],
    [true, 'KILL', 137],
  ] as const) {
    const caller = await openExec(socket, `?${toExecQuery(sh('echo up; sleep 60; echo after'))}`);
    await caller.received(1);
    caller.socket.send(JSON.stringify({ type: 'signal', signal }), { binary: isBinary });
    expect(await caller.ended()).toEqual({ exit_code, code: 1000 });
    expect(caller.text('stdout')).toBe('up\n');
  }
});

test('a process whose connection goes is ended with everything that it has started', async () => {
  const { socket } = await startSupervisor();
  const mark = `MARK=exec-${process.pid}-${Date.now()}`;
  const caller = await openExec(
    socket,
    `?${toExecQuery(sh('trap "" HUP TERM; setsid sleep 61 & sleep 62'), { env: mark })}`,
  );
  await eventually(() => findPids(mark).length >= 3);
  caller.socket.terminate();
  await eventually(() => findPids(mark).length === 0);
});

test('a process may run on for a while without a connection', async () => {
  const { socket, ask } = await startSupervisor();
  const query = toExecQuery(['sleep', '60'], { max_run_after_disconnect: '2s' });
  const caller = await openExec(socket, `?${query}`);
  caller.socket.terminate();
  const list = async () => (await ask({ target: '/v1/exec' })).json as { sessions: unknown[] };
  expect((await list()).sessions).toHaveLength(1);
  await eventually(async () => (await list()).sessions.length === 0);
});

test('what a process leaves in the background neither holds up its end nor that of the supervisor, nor is ended', async () => {
  const { socket, child, ended } = await startSupervisor();
  const mark = `MARK=back-${process.pid}-${Date.now()}`;
  expect(await runExec(socket, sh('sleep 63 & echo done'), { env: mark })).toMatchObject({
    exit_code: 0,
    stdout: 'done\n',
  });
  expect(findPids(mark)).toHaveLength(1);
  child.kill('SIGTERM');
  expect(await ended).toBe(0);
  expect(findPids(mark)).toHaveLength(1);
  for (const pid of findPids(mark)) signalProcess(pid, 'SIGKILL');
});

test('a caller who does not read holds the process back, and loses nothing', async () => {
  const { socket, child } = await startSupervisor();
  const total = 64 * 1024 * 1024;
  const caller = await openExec(socket, `?${toExecQuery(sh(`head -c ${total} /dev/zero; exit 3`))}`);
  caller.socket.pause();
  await new Promise((resolve) => setTimeout(resolve, 500));
  expect(caller.messages.length).toBeLessThan(200);
  expect(memoryOf(child.pid ?? 0)).toBeLessThan(200 * 1024 * 1024);
  caller.socket.resume();
  expect(await caller.ended()).toEqual({ exit_code: 3, code: 1000 });
  const bytes = caller.messages.reduce((sum, frame) => sum + (frame[0] === 1 ? frame.length - 1 : 0), 0);
  expect(bytes).toBe(total);
});

test('much input to a process that does not read waits at the caller', async () => {
  const { socket, child } = await startSupervisor();
  const caller = await openExec(socket, `?${toExecQuery(sh('sleep 1; wc -c'), { stdin: 'true' })}`);
  const chunk = Buffer.alloc(1024 * 1024);
  for (let count = 0; count < 64; count += 1) caller.stdin(chunk);
  await new Promise((resolve) => setTimeout(resolve, 500));
  expect(memoryOf(child.pid ?? 0)).toBeLessThan(200 * 1024 * 1024);
  caller.endStdin();
  expect(await caller.ended()).toEqual({ exit_code: 0, code: 1000 });
  expect(Number(caller.text('stdout'))).toBe(64 * 1024 * 1024);
});
