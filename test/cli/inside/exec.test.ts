// `remora exec` and `remora sessions` against a real machine: over the socket of its agent, and through the platform.
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createLeaveKey } from '../../../src/cli/inside/exec/leave-key.ts';
import { openOnce } from '../../support/at-end.ts';
import { eventually } from '../../support/eventually.ts';
import { openInsideMachine } from '../../support/inside-machine.ts';
import { runHere } from '../../support/run-here.ts';
import { remoraPath, runRemora } from '../../support/run-remora.ts';
import { signalRunning } from '../../support/signal-running.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { openTerminalCommand } from '../../support/terminal-command.ts';

/** Two signals that are this far apart are two wishes. */
const APART_MS = 600;

type Env = Readonly<Record<string, string>>;

/** Serves the tests that do not count what runs in it. */
const shared = openOnce(openInsideMachine);

/** A command that goes on, with what it has printed so far. */
function start(words: readonly string[], env: Env) {
  const child = spawn(process.execPath, [remoraPath, ...words], {
    env: { PATH: process.env.PATH ?? '', ...env },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  const exited = once(child, 'close').then(([code, signal]) => (code ?? signal) as number | string);
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await exited;
  });
  return { child, exited, stdout: () => stdout, stderr: () => stderr };
}

it('runs within the machine and from elsewhere: output, input, exit codes', async () => {
  const { within, elsewhere, beside } = shared();
  for (const env of [within, elsewhere, beside]) {
    const script = 'cat; echo err >&2; echo "$A" $(pwd); exit 7';
    const words = ['exec', '-e', 'A=x y', '--workdir', '/usr', 'sh', '-c', script];
    expect(await runRemora(words, { env, input: 'in\n' })).toEqual({
      code: 7,
      stdout: 'in\nx y /usr\n',
      stderr: 'err\n',
    });
  }
  expect(await runRemora(['exec', '--', 'no-such-program'], { env: within })).toMatchObject({
    code: 127,
    stderr: 'there is no program no-such-program in PATH\n',
  });
  expect(await runRemora(['exec', 'echo', '--json', '-t'], { env: within })).toMatchObject({ stdout: '--json -t\n' });
  expect(await runRemora(['exec', 'sh', '-c', 'kill -9 $$'], { env: elsewhere })).toMatchObject({ code: 137 });
});

it('passes 20 MB of any bytes in and out, at the pace of a slow reader', async () => {
  const { elsewhere } = shared();
  const bytes = Buffer.alloc(20 * 1024 * 1024, 'abc\0\xff\x04\n', 'latin1');
  const { child, exited } = start(['exec', 'cat'], elsewhere);
  const hash = createHash('sha256');
  let received_bytes = 0;
  child.stdout.removeAllListeners('data').setEncoding('latin1');
  child.stdout.on('data', (text: string) => {
    hash.update(text, 'latin1');
    received_bytes += text.length;
    if (received_bytes > 1_000_000 && received_bytes < 1_100_000) {
      child.stdout.pause();
      setTimeout(() => child.stdout.resume(), 300);
    }
  });
  child.stdin.end(bytes);
  expect(await exited).toBe(0);
  expect(received_bytes).toBe(bytes.length);
  expect(hash.digest('hex')).toBe(createHash('sha256').update(bytes).digest('hex'));
});

describe('ends', () => {
  it('with 130 after Ctrl-C, which is for the program; a second one ends this side', async () => {
    const { within } = await openInsideMachine();
    const first = start(
      ['exec', 'sh', '-c', 'trap "echo caught; exit 130" INT; echo up; while :; do sleep 0.1; done'],
      within,
    );
    await eventually(() => first.stdout() === 'up\n');
    first.child.kill('SIGINT');
    expect(await first.exited).toBe(130);
    expect([first.stdout(), first.stderr()]).toEqual(['up\ncaught\n', '']);

    const deaf = start(['exec', 'sh', '-c', 'trap "echo caught" INT; echo up; while :; do sleep 0.1; done'], within);
    await eventually(() => deaf.stdout() === 'up\n');
    deaf.child.kill('SIGINT');
    await eventually(() => deaf.stdout() === 'up\ncaught\n');
    // Once only: while it ends, one more would end it as a signal does.
    const again = setTimeout(() => deaf.child.kill('SIGINT'), APART_MS);
    onTestFinished(() => clearTimeout(again));
    expect(await deaf.exited).toBe(130);
    await eventually(async () => (await runHere(['sessions'], within)).out === 'nothing runs');
  });

  it('quietly when nobody reads any more', async () => {
    const { elsewhere } = shared();
    const pipe = `"${process.execPath}" "${remoraPath}" exec yes < /dev/null | head -1`;
    const child = spawn('sh', ['-c', pipe], { env: { PATH: process.env.PATH ?? '', ...elsewhere } });
    let text = '';
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (part: Buffer) => {
        text += String(part);
      });
    expect((await once(child, 'close'))[0]).toBe(0);
    expect(text).toBe('y\n');
  });

  it('with 255 and a clear line when the connection is lost', async () => {
    const { machine, elsewhere } = await openInsideMachine();
    const { exited, stdout, stderr } = start(['exec', '--keep', 'sh', '-c', 'echo up; sleep 60'], elsewhere);
    await eventually(() => stdout() === 'up\n');
    await machine.restart();
    expect(await exited).toBe(255);
    expect(stderr()).toMatch(
      /^error: the connection to the program was lost: .+; `remora exec --attach \S+` comes back to it if it runs on\n$/,
    );
  });

  it('with its own codes where nothing was run', async () => {
    const { elsewhere, within } = shared();
    const run = (words: readonly string[], env: Env) => runHere(['exec', ...words], env);
    const none = await run(['true'], { ...within, REMORA_SOCKET: '/nonexistent/agent.sock' });
    expect([none.code, none.err]).toEqual([3, expect.stringContaining('/nonexistent/agent.sock')]);
    const nobody = await run(['true'], { ...elsewhere, REMORA_URL: 'http://127.0.0.1:1' });
    expect([nobody.code, nobody.err]).toEqual([
      3,
      expect.stringContaining('no platform answers at http://127.0.0.1:1'),
    ]);
    const stranger = await run(['true'], { ...elsewhere, REMORA_API_TOKEN: 'wrong' });
    expect([stranger.code, stranger.err]).toEqual([1, expect.stringMatching(/^error: .*token/)]);
    const unknown = await run(['-s', 'nobody', 'true'], elsewhere);
    expect([unknown.code, unknown.err]).toEqual([1, 'error: there is no such sprite (not_found)']);
    for (const [words, message] of [
      [[], 'expected -- COMMAND'],
      [['-t', '-T', 'true'], 'exclude each other'],
      [['-e', 'A-', 'true'], '--env takes NAME=VALUE'],
      [['-e', 'NO_SUCH_VARIABLE', 'true'], 'there is no variable NO_SUCH_VARIABLE here'],
      [['--attach', 'x', 'true'], '--attach takes no command'],
      [['--attach', 'x', '--keep'], '--keep is for a new program'],
      [['-s', 'Not/One', 'true'], 'is no name of a sprite'],
      [['--socket', '/x', '-s', 'web', 'true'], '--sprite leads elsewhere'],
      [['--wrokdir', '/x', 'true'], 'did you mean --workdir?'],
    ] as const) {
      const wrong = await run(words, elsewhere);
      expect([wrong.code, wrong.err]).toEqual([2, expect.stringContaining(message)]);
    }
  });
});

describe('in a terminal', () => {
  it('has its size, its type, its keys and its changes, and leaves it as it was', async () => {
    const { elsewhere } = shared();
    const remora = `"${process.execPath}" "${remoraPath}"`;
    const script = `stty -g > "$0.before"; ${remora} exec sh; echo "code $?"; stty -g > "$0.after"; cmp "$0.before" "$0.after" && echo the same`;
    const state = join(tempDir(), 'stty');
    const terminal = openTerminalCommand([script, state], elsewhere, ['sh', '-c']);
    await eventually(() => /[$#] $/.test(terminal.screen()));
    terminal.type('stty size; echo $TERM\r');
    await eventually(() => terminal.screen().includes('30 100\r\nxterm\r\n'));
    terminal.resize(90, 25);
    terminal.type('until stty size | grep "25 90"; do sleep 0.1; done\r');
    await eventually(() => terminal.screen().includes('25 90\r\n'));
    // The word is in one piece on the screen only when the process that Ctrl-C is for has put it together: between
    // two processes the terminal has none to interrupt, and the key is lost.
    terminal.type(`sh -c 'echo "asl""eep"; exec sleep 60'\r`);
    await eventually(() => terminal.screen().includes('asleep\r\n'));
    terminal.type('\x03');
    // The shell drops what is typed before it has seen the end.
    await eventually(() => /\^C\s+[$#] $/.test(terminal.screen()));
    terminal.type('stty -opost; printf "one\\ntwo\\n"; stty opost\r');
    await eventually(() => terminal.screen().includes('one\ntwo\n'));
    terminal.type('echo "go""ing on"; exit 5\r');
    await eventually(() => terminal.screen().includes('going on\r\n'));
    await eventually(() => terminal.screen().includes('code 5\r\n'));
    expect(await terminal.exited).toBe(0);
    expect(terminal.screen()).toContain('the same\r\n');
  });

  it.each([
    ['SIGTERM', 143],
    ['SIGHUP', 129],
    ['SIGUSR2', 1],
  ] as const)('is as it was also after %s, which ends it or crashes it', async (signal, code) => {
    const { within } = shared();
    const crash =
      'data:text/javascript,setTimeout(()=>process.prependListener("SIGUSR2",()=>{throw new Error("crash")}),1)';
    const remora = `"${process.execPath}" --import '${crash}' "${remoraPath}"`;
    const program = 'echo u""p; exec sleep 60';
    const script = `before=$(stty -g); ${remora} exec sh -c '${program}'; echo "code $?"; test "$before" = "$(stty -g)" && echo the same`;
    const terminal = openTerminalCommand([script], within, ['sh', '-c']);
    await eventually(() => terminal.screen().includes('up'));
    const [pid] = readFileSync(`/proc/${terminal.pid}/task/${terminal.pid}/children`, 'utf8').split(' ');
    signalRunning(Number(pid), signal);
    expect(await terminal.exited).toBe(0);
    expect(terminal.screen()).toContain(`code ${code}\r\nthe same\r\n`);
  });

  it('is not given without one, and is with -t', async () => {
    const { within } = shared();
    expect(await runRemora(['exec', 'tty'], { env: within })).toMatchObject({ code: 1, stdout: 'not a tty\n' });
    const forced = await runRemora(['exec', '-t', 'sh', '-c', 'tty; read line; echo "got $line"; cat'], {
      env: within,
      input: 'words\n',
    });
    expect(forced).toMatchObject({ code: 0, stderr: '' });
    expect(forced.stdout).toMatch(/\/dev\/pts\/\d+\r\n[\s\S]*got words\r\n/);
    const terminal = openTerminalCommand(['exec', '-T', 'tty'], within);
    expect(await terminal.exited).toBe(1);
    expect(terminal.screen()).toContain('not a tty');
  });
});

describe('a session', () => {
  it('runs on when it is detached, is listed, comes back and is killed', async () => {
    const { elsewhere: env } = await openInsideMachine();
    const detached = await runRemora(['exec', '-d', 'sh', '-c', 'echo begun; exec sleep 60'], { env });
    expect(detached).toMatchObject({ code: 0, stdout: expect.stringMatching(/^\S+\n$/), stderr: '' });
    const id = detached.stdout.trim();
    const { stdout } = await runRemora(['sessions'], { env });
    expect(stdout).toMatch(/^ID +TTY +STARTED +LAST ACTIVE +COMMAND\n/);
    expect(stdout).toMatch(new RegExp(`^${id} +no +.* sh -c echo begun; exec sleep 60$`, 'm'));
    const list = JSON.parse((await runHere(['sessions', '--json'], env)).out);
    expect(list).toMatchObject({ sessions: [{ id, tty: false, is_active: true }] });
    const attached = start(['exec', '--attach', id], env);
    await eventually(() => attached.stdout() === 'begun\n');
    const killed = await runHere(['sessions', 'kill', id, '--signal', 'INT'], env);
    expect(killed).toMatchObject({
      code: 0,
      out: expect.stringMatching(/^sent SIGINT .*\nthe process has ended\nexit code 130$/),
    });
    expect(await attached.exited).toBe(130);
    const again = await runHere(['sessions', 'kill', id], env);
    expect([again.code, again.err]).toEqual([1, expect.stringContaining('has ended already')]);
    const none = await runHere(['exec', '--attach', 'none'], env);
    expect([none.code, none.err]).toEqual([1, expect.stringMatching(/^error: /)]);
  });

  it('that cannot be started is no success when it is detached', async () => {
    const { within: env } = shared();
    expect(await runRemora(['exec', '-d', 'no-such-program'], { env })).toMatchObject({
      code: 127,
      stdout: '',
      stderr: expect.stringContaining('there is no program'),
    });
  });

  it('of a terminal is left with ~. and comes back with its last output', async () => {
    const { elsewhere } = shared();
    const first = openTerminalCommand(['exec', '--keep', 'sh'], elsewhere);
    await eventually(() => /[$#] $/.test(first.screen()));
    first.type('A=kept; echo "here ""it is"\r');
    await eventually(() => first.screen().includes('here it is\r\n'));
    first.type('~.');
    expect(await first.exited).toBe(0);
    const id = /--attach (\S+)`/.exec(first.screen())?.[1] ?? '';
    const second = openTerminalCommand(['exec', '--attach', id], elsewhere);
    await eventually(() => second.screen().includes('here it is\r\n'));
    second.type('echo "still $A"; exit 3\r');
    expect(await second.exited).toBe(3);
    expect(second.screen()).toContain('still kept\r\n');
  });
});

it.each([
  [['~.'], undefined],
  [['ls\r~', '.'], undefined],
  [['~~.'], '~.'],
  [['a~.'], 'a~.'],
  [['~a~.'], '~a~.'],
  [['~\r~.'], undefined],
  [['~'], ''],
] as const)('typed %j passes %j', (typed, passed) => {
  const key = createLeaveKey();
  const parts = typed.map((each) => key.take(Buffer.from(each)));
  expect(parts.includes(undefined) ? undefined : parts.join('')).toBe(passed);
});
