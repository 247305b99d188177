import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { commands } from '../../src/cli/commands.ts';
import { toCurlWords } from '../../src/cli/curl-words.ts';
import { parseGatewayTarget } from '../../src/cli/gateway-target.ts';
import { toSpan, toTable } from '../../src/cli/table.ts';
import { loudly } from '../support/loudly.ts';
import { runHere } from '../support/run-here.ts';
import { runRemora } from '../support/run-remora.ts';
import { tempDir } from '../support/temp-dir.ts';

/** A Node on the PATH that is too old for the sources. */
const oldNode = (process.env.PATH ?? '')
  .split(delimiter)
  .map((dir) => join(dir, 'node'))
  .filter((path) => existsSync(path))
  .find((path) => {
    const version = spawnSync(path, ['--version'], { encoding: 'utf8' }).stdout ?? '';
    return /^v\d+/.test(version) && Number(version.slice(1).split('.')[0]) < 24;
  });

describe('an old Node', () => {
  it.skipIf(loudly(oldNode === undefined, 'no Node older than 24 on the PATH: its message is not tried'))(
    'is told which one is needed and how to get it',
    async () => {
      const run = await runRemora(['--version'], oldNode === undefined ? {} : { node: oldNode });
      expect(run.code).toBe(1);
      expect(run.stdout).toBe('');
      expect(run.stderr).toMatch(/needs Node 24 or later, and this is Node \d+/);
      expect(run.stderr).toContain('npm ci');
      expect(run.stderr).not.toMatch(/SyntaxError|ERR_UNKNOWN_FILE_EXTENSION|at .*node:internal/);
    },
  );
});

describe('help and version', () => {
  it('lists every command with what it does', async () => {
    const run = await runRemora(['--help']);
    expect(run).toMatchObject({ code: 0, stderr: '' });
    for (const { name, inner } of commands) expect(run.stdout).toContain(`  ${inner ? name.split(' ')[0] : name}`);
    expect(run.stdout).toMatch(/Exit codes: 0/);
  });

  it('explains each command and each of its flags', async () => {
    for (const { name, flags } of commands) {
      for (const words of [
        [...name.split(' '), '--help'],
        ['help', ...name.split(' ')],
      ]) {
        const run = await runHere(words);
        expect(run).toMatchObject({ code: 0, err: '' });
        expect(run.out).toContain(`usage: remora ${name}`);
        for (const flag of Object.keys(flags)) expect(run.out, name).toContain(`--${flag}`);
      }
    }
  });

  it('lists the commands that begin with one word', async () => {
    for (const words of [
      ['sprite', '--help'],
      ['help', 'sprite'],
    ]) {
      expect((await runHere(words)).out).toMatch(/ {2}sprite list .*\n {2}sprite show NAME /);
    }
    expect((await runHere(['platform', '--help'])).out).toMatch(/Beside it:\n {2}platform key /);
  });

  it('prints the version of the package', async () => {
    expect((await runRemora(['--version'])).stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
  });
});

describe('a wrong command line', () => {
  it.each([
    [[], /a command is missing/],
    [['statsu'], /there is no command statsu; did you mean status\?/],
    [['nonsense'], /there is no command nonsense\n/],
    [['sprite'], /sprite: expected list, show/],
    [['sprite', 'lsit'], /nothing called lsit in sprite; did you mean list\?/],
    [['platform', 'sprte', 'list'], /did you mean sprite\?/],
    [['help', 'sprite', 'nothing'], /nothing called nothing in sprite/],
    [['--json'], /there is no flag --json before a command/],
    [['status', '--jsno'], /Unknown option '--jsno'; did you mean --json\?/],
    [['status', '--socket'], /--socket/],
    [['status', 'now'], /now is one operand too many/],
    [['explain', 'GET'], /expected METHOD URL/],
    [['explain', 'GET', '/v1/status'], /is not \/v1\/gateway/],
    [['events', '--since', 'yesterday'], /--since takes a number/],
    [['wait', 'db', '1', '--timeout', 'soon'], /--timeout takes a time/],
    [['wait'], /expected port:PORT/],
    [['wait', 'port:http'], /expected port:PORT, tx:DATABASE@TXID/],
    [['wait', 'port:65536'], /a port is a number from 1 to 65535/],
    [['wait', 'port:80', '--until', 'open'], /--until takes listen, http or closed/],
    [['wait', 'tx:db@1', '--until', 'closed'], /--until is for a port/],
    [['curl'], /expected ARGS/],
    [['dev', '--port', 'http'], /--port/],
  ])('%j ends with 2 and says what is wrong', async (words, message) => {
    const run = await runHere(words);
    expect(run.code).toBe(2);
    expect(run.out).toBe('');
    expect(run.err).toMatch(message);
    expect(run.err).not.toMatch(/\n\s+at /);
  });
});

it('ends with 3 when nobody serves on the socket, and names the path', async () => {
  const path = join(tempDir(), 'none.sock');
  for (const words of [['status'], ['ports'], ['events'], ['explain', 'GET', '/v1/gateway/a/b/c']]) {
    const run = await runRemora([...words, '--socket', path]);
    expect(run.code).toBe(3);
    expect(run.stderr).toContain('is it running?');
    expect(run.stderr).toContain(path);
  }
});

it('reads the socket from --socket before REMORA_SOCKET', async () => {
  const dir = tempDir();
  const env = { REMORA_SOCKET: join(dir, 'variable.sock') };
  expect((await runRemora(['status'], { env })).stderr).toContain('variable.sock');
  const both = await runRemora(['status', '--socket', join(dir, 'flag.sock')], { env });
  expect(both.stderr).toContain('flag.sock');
});

describe('a table', () => {
  it('aligns its columns and ends no line with a space', () => {
    expect(
      toTable([
        ['A', 'LONGER', ''],
        ['longest', 'b', ''],
        ['x', '', 'last'],
      ]),
    ).toEqual(['A        LONGER', 'longest  b', 'x                last']);
  });

  it('shows control characters instead of sending them to the terminal', () => {
    expect(toTable([['\x1b[31mred\n']])).toEqual(['\\x1b[31mred\\x0a']);
  });

  it.each([
    [0, '0 ms'],
    [999, '999 ms'],
    [1_000, '1 s'],
    [59_999, '59 s'],
    [60_000, '1 min'],
    [61_000, '1 min 1 s'],
    [3_660_000, '1 h 1 min'],
    [90_000_000, '1 d 1 h'],
  ])('says %d ms as %s', (ms, text) => {
    expect(toSpan(ms)).toBe(text);
  });
});

describe('the words of curl', () => {
  it.each([
    [['/v1/status'], ['http://remora/v1/status']],
    [
      ['-X', 'POST', '/v1/machine/suspend'],
      ['-X', 'POST', 'http://remora/v1/machine/suspend'],
    ],
    [
      ['-o', '/tmp/a', '/metrics'],
      ['-o', '/tmp/a', 'http://remora/metrics'],
    ],
    [
      ['-sSo', '/tmp/a', '/metrics'],
      ['-sSo', '/tmp/a', 'http://remora/metrics'],
    ],
    [
      ['-s', '/metrics'],
      ['-s', 'http://remora/metrics'],
    ],
    [
      ['--data', '/etc', '/x'],
      ['--data', '/etc', 'http://remora/x'],
    ],
    [
      ['--include', '/v1/status', '-o', '/tmp/a'],
      ['--include', 'http://remora/v1/status', '-o', '/tmp/a'],
    ],
    [
      ['--silent', '/v1/status', '--output', '/tmp/a'],
      ['--silent', 'http://remora/v1/status', '--output', '/tmp/a'],
    ],
    [['http://h/v1/status'], ['http://h/v1/status']],
    [
      ['/a', '/b'],
      ['http://remora/a', 'http://remora/b'],
    ],
    [['/v1/gateway/a/b/..%2f?q=1&r=[2]'], ['http://remora/v1/gateway/a/b/..%2f?q=1&r=[2]']],
  ])('%j become %j', (words, expected) => {
    expect(toCurlWords(words, '/s').slice(6)).toEqual(expected);
    expect(toCurlWords(words, '/s').slice(3, 6)).toEqual(['--fail-with-body', '--unix-socket', '/s']);
  });

  it.each([
    [['--fail'], true],
    [['-sf'], true],
    [['-fs'], true],
    [['--no-fail-with-body'], true],
    [['-of'], false],
    [['-Hf: 1'], false],
    [['-s', '--data', 'f'], false],
  ])('%j says how to fail: %j', (words, says) => {
    expect(toCurlWords([...words, '/x'], '/s').includes('--fail-with-body')).toBe(!says);
  });
});

describe('a gateway URL', () => {
  it.each([
    ['/v1/gateway/openai/c1/v1/chat?x=1', { provider: 'openai', connector_id: 'c1', path: '/v1/chat?x=1' }],
    ['http://remora/v1/gateway/openai/c1/a', { provider: 'openai', connector_id: 'c1', path: '/a' }],
    ['/v1/gateway/openai/c1', { provider: 'openai', connector_id: 'c1', path: '/' }],
    ['/v1/gateway/openai/c1?q', { provider: 'openai', connector_id: 'c1', path: '/?q' }],
    ['/v1/gateway/openai/c1/a/../b%2e//', { provider: 'openai', connector_id: 'c1', path: '/a/../b%2e//' }],
    ['/v1/gateway/openai', undefined],
    ['/v1/status', undefined],
    ['gateway/openai/c1/a', undefined],
  ])('%s is read as %j', (url, expected) => {
    expect(parseGatewayTarget(url)).toEqual(expected);
  });
});
