// The last that a process prints comes before its exit code, whichever is slow: the reader, the supervisor, or what runs on in the background.
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { eventually } from '../../support/eventually.ts';
import { type ExecCaller, openExec, toExecQuery } from '../../support/exec-socket.ts';
import { findPids, type SupervisorProcess, startSupervisor } from '../../support/supervisor-process.ts';

const KINDS = [
  ['a terminal', 'true'],
  ['pipes', 'false'],
] as const;
const BRACE = 0x7b;
const STDOUT = 1;
/** A shell in front of the program writes a little too, and the last write may be cut. */
const OTHER_BYTES = 64;

/** Runs a script to its end; what it leaves behind is found by the directory, and ended with the supervisor. */
async function run({ socket, dir }: SupervisorProcess, tty: string, script: string) {
  const query = toExecQuery(['sh', '-c', script], { tty, env: `DIR=${dir}/` });
  return await readEnd(await openExec(socket, `?${query}`), tty);
}

/** What was printed before the exit code; empty where that is not the last frame. */
async function readEnd({ messages, closed }: ExecCaller, tty: string) {
  await closed;
  const isTerminal = tty === 'true';
  const last = messages.at(-1)?.toString('latin1') ?? '';
  const exit_code = isTerminal ? Number(/^\{"type":"exit","exit_code":(\d+)\}$/.exec(last)?.[1]) : last.charCodeAt(1);
  const isLast = isTerminal ? !Number.isNaN(exit_code) : last.length === 2 && last.startsWith('\x03');
  const parts = messages.filter((frame) => frame[0] === (isTerminal ? frame[0] : STDOUT) && frame[0] !== BRACE);
  const printed = Buffer.concat(isLast ? parts.map((frame) => (isTerminal ? frame : frame.subarray(1))) : []);
  return { exit_code, printed };
}

test.each(KINDS)('300 KB that %s is full of are all there, a hundred times', async (_, tty) => {
  const supervisor = await startSupervisor();
  const one = async () => {
    const { exit_code, printed } = await run(supervisor, tty, 'printf %300000s end; exit 3');
    expect([exit_code, printed.length, printed.subarray(-3).toString()]).toEqual([3, 300_000, 'end']);
  };
  for (let round = 0; round < 25; round += 1) await Promise.all([one(), one(), one(), one()]);
});

test.each(KINDS)('what %s holds when the process is killed reaches a reader that stood still', async (_, tty) => {
  const { socket, dir, ask } = await startSupervisor();
  const words = ['dd', 'if=/dev/zero', 'bs=64', 'status=none'];
  const caller = await openExec(socket, `?${toExecQuery(words, { tty, env: `DIR=${dir}/` })}`);
  caller.socket.pause();
  const pid = await eventually(() => findPids(`DIR=${dir}/`)[0]);
  const written = () => Number(/wchar: (\d+)/.exec(readFileSync(`/proc/${pid}/io`, 'latin1'))?.[1]);
  let before = -1;
  await eventually(() => {
    const now = written();
    const isStill = now > 200_000 && now === before;
    before = now;
    return isStill;
  });
  const sessions = ((await ask({ target: '/v1/exec' })).json as { sessions: { id: string }[] }).sessions;
  await ask({ method: 'POST', target: `/v1/exec/${sessions[0]?.id}/kill?signal=KILL` });
  // A terminal must not be closed meanwhile.
  await new Promise((resolve) => setTimeout(resolve, 400));
  caller.socket.resume();
  const { exit_code, printed } = await readEnd(caller, tty);
  expect(exit_code).toBe(137);
  expect(printed.length).toBeGreaterThanOrEqual(before - OTHER_BYTES);
});

test.each(KINDS)('what runs on in the background of %s holds the exit code up for a moment only', async (_, tty) => {
  const supervisor = await startSupervisor();
  const trap = "trap '' HUP; ";
  for (const background of ['sleep 60', '(while :; do echo more; sleep 0.05; done)', 'yes']) {
    const { exit_code, printed } = await run(supervisor, tty, `${trap}${background} & printf %300000s end; exit 3`);
    expect(exit_code).toBe(3);
    expect(printed.includes('end')).toBe(true);
  }
});

test('a caller who reads slowly gets the exit code too, while something in the background prints without end', async () => {
  const supervisor = await startSupervisor();
  const script = "trap '' HUP; yes & printf %300000s end; exit 3";
  const query = toExecQuery(['sh', '-c', script], { tty: 'false', env: `DIR=${supervisor.dir}/` });
  const caller = await openExec(supervisor.socket, `?${query}`);
  const slow = setInterval(() => {
    caller.socket.resume();
    setTimeout(() => caller.socket.pause(), 2);
  }, 100);
  try {
    const { exit_code, printed } = await readEnd(caller, 'false');
    expect([exit_code, printed.includes('end')]).toEqual([3, true]);
  } finally {
    clearInterval(slow);
  }
});
