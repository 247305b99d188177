// `remora services` against a real machine: real processes, logs and signals.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { toLogText } from '../../../src/cli/inside/services/log-text.ts';
import { openOnce } from '../../support/at-end.ts';
import { openCuttable } from '../../support/cuttable.ts';
import { eventually } from '../../support/eventually.ts';
import { openInsideMachine } from '../../support/inside-machine.ts';
import { openRaw } from '../../support/raw-http.ts';
import { runHere } from '../../support/run-here.ts';
import { remoraPath, runRemora } from '../../support/run-remora.ts';
import { openTerminalCommand } from '../../support/terminal-command.ts';

const script = 'trap "echo hup" HUP; echo "up as $A"; echo oops >&2; while :; do sleep 0.1; done';

/** `remora services …` over the socket or through the platform. */
function openWord(env: Readonly<Record<string, string>>) {
  return (...words: string[]) => runHere(['services', ...words], env);
}

/** Serves the tests that do not count the services. */
const shared = openOnce(openInsideMachine);

it.each(['within', 'elsewhere'] as const)(
  'a service is created, listed, shown, signalled, stopped, started and deleted: %s',
  async (place) => {
    const env = (await openInsideMachine())[place];
    const word = openWord({ ...env, A: 'it is' });
    expect(await word('list')).toEqual({ code: 0, out: 'there is no service', err: '' });
    const flags = ['--env', 'A', '--workdir', '/usr', '--duration', '3s'];
    const made = await word('create', 'web', ...flags, '--', 'sh', '-c', script);
    expect(made).toMatchObject({ code: 0, out: expect.stringMatching(/^up as it is\nweb is running, pid \d+$/) });
    expect(made.err).toMatch(/^started\noops\nits log: \/.*\/web\.log$/);
    const [head, row] = (await word('list')).out.split('\n');
    expect(head).toMatch(/^NAME +STATUS +PID +STARTED +RESTARTS +PORT +COMMAND$/);
    expect(row).toMatch(/^web +running +\d+ +\S.* ago +0 +- +sh -c trap/);
    expect(JSON.parse((await word('list', '--json')).out)).toMatchObject([{ name: 'web', dir: '/usr' }]);
    expect((await word('show', 'web')).out).toMatch(/^status +running$/m);
    expect(await word('signal', 'web', 'HUP')).toMatchObject({ code: 0, out: 'HUP is sent to web' });
    await eventually(async () => (await word('logs', 'web', '-n', '1')).out === 'hup');
    const logs = await word('logs', 'web', '-n', '3');
    expect(logs).toEqual({ code: 0, out: 'up as it is\nhup', err: 'oops' });
    expect(await word('stop', 'web')).toMatchObject({ code: 0, out: 'web is stopped' });
    expect((await word('signal', 'web', 'HUP')).err).toContain('is not running');
    expect(await word('start', 'web', '--duration', '300ms')).toMatchObject({ code: 0 });
    expect(await word('restart', 'web', '--duration', '300ms')).toMatchObject({ code: 0 });
    expect(await word('delete', 'web')).toMatchObject({ code: 0, out: 'web is deleted; its log file is kept' });
    const gone = await word('show', 'web');
    expect([gone.code, gone.err]).toEqual([1, expect.stringContaining('(not_found)')]);
  },
);

it('ends with 1 when the service is not up, and says why; wrong words are 2', async () => {
  const { elsewhere } = shared();
  const word = openWord(elsewhere);
  const failing = await word('create', 'bad', '--duration', '3s', '--', 'sh', '-c', 'echo no; exit 3');
  expect([failing.code, failing.out]).toEqual([1, expect.stringMatching(/^(no\n)+bad is (failed: .*3|starting)/)]);
  expect(failing.err).toContain('ended by itself with exit code 3\n');
  const missing = await word('create', 'none', '--duration', '300ms', '--', 'no-such-program');
  expect([missing.code, missing.out]).toEqual([1, expect.stringContaining('no-such-program')]);
  const needs = await word('create', 'x', '--needs', 'nothing', '--', 'true');
  expect([needs.code, needs.err]).toEqual([1, expect.stringContaining('nothing')]);
  for (const [words, message] of [
    [['create', 'x'], 'expected NAME -- COMMAND'],
    [['create', 'x', '--http-port', 'http', '--', 'true'], '--http-port takes a whole number'],
    [['lgos', 'x'], 'did you mean logs?'],
    [['logs', 'x', '-n', 'many'], '--lines takes a whole number'],
  ] as const) {
    const wrong = await word(...words);
    expect([wrong.code, wrong.err]).toEqual([2, expect.stringContaining(message)]);
  }
});

it('follows the log until Ctrl-C, and says when the connection is lost', async () => {
  const { elsewhere, machine } = shared();
  const word = openWord(elsewhere);
  const ticking = 'n=0; while :; do n=$((n+1)); echo "tick $n"; sleep 0.2; done';
  await word('create', 'clock', '--duration', '0s', '--', 'sh', '-c', ticking);
  const hop = await openCuttable(machine.platform.url);
  const start = () => {
    const child = spawn(process.execPath, [remoraPath, 'services', 'logs', '-f', '-n', '0', 'clock'], {
      env: { PATH: process.env.PATH ?? '', ...elsewhere, REMORA_URL: hop.url },
    });
    onTestFinished(() => void child.kill('SIGKILL'));
    let text = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (part: Buffer) => {
        text += String(part);
      });
    }
    return { child, ended: once(child, 'close'), text: () => text };
  };
  const first = start();
  await eventually(() => first.text().split('\n').length > 3);
  const numbers = [...first.text().matchAll(/tick (\d+)\n/g)].map((match) => Number(match[1]));
  expect(numbers).toEqual(numbers.map((_, index) => (numbers[0] ?? 0) + index));
  first.child.kill('SIGINT');
  expect((await first.ended)[1]).toBe('SIGINT');
  const second = start();
  await eventually(() => second.text().includes('tick'));
  hop.cut();
  expect((await second.ended)[0]).toBe(255);
  expect(second.text()).toContain('error: the connection to the sprite was lost');
});

it('asks for a sign of life with each log that it follows, and skips it', async () => {
  const asked: string[] = [];
  const server = createServer(({ url = '' }, response) => {
    asked.push(url);
    const isLog = /\/(web|start|restart|stop|logs)\?/.test(url);
    const lines = [
      { type: 'stdout', data: 'said', timestamp: 1 },
      { type: 'complete', timestamp: 2 },
    ];
    const service = { name: 'web', cmd: 'true', args: [], needs: [], state: { name: 'web', status: 'stopped' } };
    if (isLog) response.end(`\n${lines.map((line) => `${JSON.stringify(line)}\n`).join('\n')}`);
    else response.end(JSON.stringify(service));
  }).listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const word = openWord({ REMORA_URL: `http://127.0.0.1:${port}`, REMORA_API_TOKEN: 'x', REMORA_SPRITE: 'dev-1' });
  for (const words of [
    ['create', 'web', '--duration', '90s', '--', 'true'],
    ['start', 'web', '--duration', '90s'],
    ['restart', 'web'],
    ['stop', 'web'],
    ['logs', 'web'],
  ]) {
    asked.length = 0;
    const run = await word(...words);
    expect(run.err).not.toContain('error');
    expect(asked[0]).toMatch(/[?&]keepalive=15(&|$)/);
  }
});

it('gets a sign of life of a quiet service through the platform when it asks for it', async () => {
  const { elsewhere, machine } = shared();
  await openWord(elsewhere)('create', 'still', '--duration', '0s', '--', 'sleep', '600');
  const lines = [
    'GET /v1/sprites/dev-1/services/still/logs?lines=0&duration=1h&keepalive=1 HTTP/1.1',
    `Host: x\r\nAuthorization: Bearer ${elsewhere.REMORA_API_TOKEN}`,
  ];
  const caller = openRaw(Number(new URL(machine.platform.url).port), `${lines.join('\r\n')}\r\n\r\n`);
  expect(await caller.until(/\r\n\r\n1\r\n\n\r\n/)).toMatch(/^x-accel-buffering: no\r$/im);
});

it('shows colours on a terminal, and no other control characters', async () => {
  const { within } = shared();
  const shown = 'printf "\\033[31mred\\033[0m\\ttab \\033]0;title\\007\\n"; sleep 60';
  await openWord(within)('create', 'odd', '--duration', '0s', '--', 'sh', '-c', shown);
  await eventually(async () => (await openWord(within)('logs', 'odd')).out !== '');
  const terminal = openTerminalCommand(['services', 'logs', 'odd'], within);
  expect(await terminal.exited).toBe(0);
  expect(terminal.screen()).toBe('\x1b[31mred\x1b[0m\ttab \\x1b]0;title\\x07\r\n');
  expect((await runRemora(['services', 'logs', 'odd'], { env: within })).stdout).toBe(
    '\x1b[31mred\x1b[0m\ttab \x1b]0;title\x07\n',
  );
  expect(toLogText('\r\x1b[2J\x1b[1;31m')).toBe('\\x0d\\x1b[2J\x1b[1;31m');
});
