// Processes in a terminal, over the WebSocket of a real supervisor.
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { openOnce } from '../../support/at-end.ts';
import { eventually } from '../../support/eventually.ts';
import { openExec, toExecQuery } from '../../support/exec-socket.ts';
import { loudly } from '../../support/loudly.ts';
import { startSupervisor } from '../../support/supervisor-process.ts';

/** Serves the tests that do not count what runs in it. */
const shared = openOnce(startSupervisor);

async function openTerminal(socket: string, cmd: readonly string[], more: Readonly<Record<string, string>> = {}) {
  const caller = await openExec(socket, `?${toExecQuery(cmd, { tty: 'true', ...more })}`);
  const texts = () => caller.messages.map(String);
  return {
    ...caller,
    type: (text: string) => caller.socket.send(Buffer.from(text)),
    /** All that was shown. */
    screen: () =>
      texts()
        .filter((text) => !text.startsWith('{'))
        .join(''),
    notes: () =>
      texts()
        .filter((text) => text.startsWith('{'))
        .map((text) => JSON.parse(text)),
  };
}

test('a shell has a terminal of the size that was asked for, and follows it', async () => {
  const { socket } = shared();
  const terminal = await openTerminal(socket, ['sh', '-i'], { rows: '30', cols: '100' });
  expect((await terminal.received(1)).map(String)[0]).toContain('session_info');
  terminal.type('stty size; tty\n');
  await eventually(() => /30 100\r\n\/dev\/pts\/\d+\r\n/.test(terminal.screen()));
  terminal.steer({ type: 'resize', rows: 31, cols: 101 });
  terminal.type('stty size; echo "$TERM"\n');
  await eventually(() => terminal.screen().includes('31 101\r\nxterm-256color\r\n'));
  terminal.type('exit 3\n');
  expect(await terminal.closed).toMatchObject({ code: 4000 });
  expect(terminal.notes().at(-1)).toEqual({ type: 'exit', exit_code: 3 });
});

test('Ctrl-C ends what runs and not the shell; an end with 0 closes with 1000', async () => {
  const { socket } = shared();
  const terminal = await openTerminal(socket, ['sh', '-i']);
  terminal.type('echo be""gun; sleep 60; echo af""ter\n');
  await eventually(() => terminal.screen().includes('begun'));
  // A program that is just being started may miss the signal, and a shell that has just been interrupted forgets what was typed before it
  // noticed.
  await eventually(async () => {
    terminal.type('\x03');
    await sleep(100);
    terminal.type('echo al""ive\n');
    await sleep(300);
    return terminal.screen().includes('alive');
  });
  expect(terminal.screen()).toContain('^C');
  expect(terminal.screen()).not.toContain('after');
  terminal.type('exit 0\n');
  expect(await terminal.closed).toMatchObject({ code: 1000 });
  expect(terminal.notes().at(-1)).toEqual({ type: 'exit', exit_code: 0 });
});

test('a signal, a missing program and a lost connection end it', async () => {
  const { socket, ask } = await startSupervisor();
  const killed = await openTerminal(socket, ['sleep', '60']);
  await killed.received(1);
  killed.steer({ type: 'signal', signal: 'KILL' });
  expect(await killed.closed).toMatchObject({ code: 4000 });
  expect(killed.notes().at(-1)).toEqual({ type: 'exit', exit_code: 137 });
  const missing = await openTerminal(socket, ['no-such-program']);
  expect(await missing.closed).toMatchObject({ code: 4000 });
  expect(missing.screen()).toBe('there is no program no-such-program in PATH\r\n');
  const lost = await openTerminal(socket, ['sh', '-i']);
  await lost.received(2);
  lost.socket.terminate();
  await eventually(async () => ((await ask({ target: '/v1/exec' })).json as { sessions: [] }).sessions.length === 0);
});

test('all that is printed before the end is shown', async () => {
  const { socket } = shared();
  const terminal = await openTerminal(socket, ['sh', '-c', 'stty -opost; head -c 300000 /dev/zero; printf end']);
  await terminal.closed;
  const shown = terminal.screen();
  expect(shown.length).toBe(300_003);
  expect(shown.endsWith('end')).toBe(true);
});

test.skipIf(loudly(process.geteuid?.() !== 0, 'a terminal of another user: this is not root'))(
  'a terminal of another user belongs to that user, who gets the variables and no groups of root',
  async () => {
    const { socket } = await startSupervisor({ user: 'nobody' });
    const script = 'id -un; id -Gn; echo "$A"; echo "left:$(env | grep -c REMORA_VARIABLES)"; echo open > "$(tty)"';
    const terminal = await openTerminal(socket, ['sh', '-c', script], { env: "A=it's $(id)" });
    await terminal.closed;
    expect(terminal.screen()).toBe("nobody\r\nnogroup\r\nit's $(id)\r\nleft:0\r\nopen\r\n");
  },
);
