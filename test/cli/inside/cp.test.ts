// `remora cp` against a real machine: real files on both sides.
import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { parseCopyOperand } from '../../../src/cli/inside/files/copy-operand.ts';
import { toProgressLine } from '../../../src/cli/inside/files/progress-line.ts';
import { openOnce } from '../../support/at-end.ts';
import { openCuttable } from '../../support/cuttable.ts';
import { eventually } from '../../support/eventually.ts';
import { openInsideMachine } from '../../support/inside-machine.ts';
import { runHere } from '../../support/run-here.ts';
import { remoraPath, runRemora } from '../../support/run-remora.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { openTerminalCommand } from '../../support/terminal-command.ts';

const inside = openOnce(openInsideMachine);
const modeOf = (path: string) => (statSync(path).mode & 0o7777).toString(8);
const sha = (path: string) => createHash('sha256').update(readFileSync(path)).digest('hex');

it('copies a file in and out, with its mode, within the machine and from elsewhere', async () => {
  const { within, elsewhere } = inside();
  for (const [env, name] of [
    [within, ''],
    [elsewhere, 'dev-1'],
  ] as const) {
    const [here, there] = [tempDir(), tempDir()];
    const source = join(here, 'a b.sh');
    writeFileSync(source, 'content\n');
    chmodSync(source, 0o750);
    const cp = (...words: string[]) => runHere(['cp', ...words], env);
    const piped = (words: string[], input = '') => runRemora(['cp', ...words], { env, input });
    const silent = { code: 0, out: '', err: '' };
    expect(await cp(source, `${name}:${there}/`)).toEqual(silent);
    expect([readFileSync(join(there, 'a b.sh'), 'utf8'), modeOf(join(there, 'a b.sh'))]).toEqual(['content\n', '750']);
    expect(await cp(source, `${name}:${there}/other`)).toEqual(silent);
    chmodSync(join(there, 'other'), 0o4604);
    expect(await cp(`${name}:${there}/other`, here)).toEqual(silent);
    expect([readFileSync(join(here, 'other'), 'utf8'), modeOf(join(here, 'other'))]).toEqual(['content\n', '604']);
    writeFileSync(join(here, 'empty'), '');
    expect(await cp(join(here, 'empty'), `${name}:${there}`)).toEqual(silent);
    expect(await cp(`${name}:${there}/empty`, join(here, 'empty2'))).toEqual(silent);
    expect(readFileSync(join(here, 'empty2'), 'utf8')).toBe('');
    const streamed = { code: 0, stdout: '', stderr: '' };
    expect(await piped(['-', `${name}:${there}/stream`], 'streamed')).toEqual(streamed);
    expect(await piped([`${name}:${there}/stream`, '-'])).toEqual({ ...streamed, stdout: 'streamed' });
    expect(await cp(`${name}:${there}/stream`, '/dev/null')).toEqual(silent);
    expect(statSync('/dev/null').isCharacterDevice()).toBe(true);
    expect([...readdirSync(here), ...readdirSync(there)].filter((each) => each.endsWith('.remora'))).toEqual([]);
  }
});

it('takes a relative path from the home of the user', async () => {
  const { within } = inside();
  const home = (await runRemora(['exec', 'pwd'], { env: within })).stdout.trim();
  const name = `remora-cp-${process.pid}`;
  expect(await runRemora(['cp', '-', `:${name}`], { env: within, input: 'at home' })).toMatchObject({ code: 0 });
  onTestFinished(async () => void (await runRemora(['exec', 'rm', join(home, name)], { env: within })));
  expect(readFileSync(join(home, name), 'utf8')).toBe('at home');
});

it('copies a directory with all modes, leaves links out and says so', async () => {
  const { elsewhere: env } = inside();
  const [here, there] = [tempDir(), tempDir()];
  const tree = join(here, 'tree');
  mkdirSync(join(tree, 'deep/er'), { recursive: true });
  mkdirSync(join(tree, 'empty'));
  for (let index = 0; index < 30; index += 1) writeFileSync(join(tree, 'deep', `f${index}`), `${index}`);
  writeFileSync(join(tree, 'deep/er/*[x]\n'), 'odd');
  symlinkSync('/etc/passwd', join(tree, 'link'));
  chmodSync(join(tree, 'deep/f1'), 0o600);
  chmodSync(join(tree, 'deep/er'), 0o555);
  chmodSync(join(tree, 'empty'), 0o700);
  onTestFinished(() => [here, there].forEach((dir) => void spawn('chmod', ['-R', 'u+w', dir])));
  const refused = await runHere(['cp', tree, `:${there}`], env);
  expect([refused.code, refused.err]).toEqual([1, `error: ${tree} is a directory; -r copies it`]);
  const into = await runHere(['cp', '-r', tree, `:${there}`], env);
  expect(into).toEqual({ code: 1, out: '', err: `left out: ${tree}/link is a link` });
  const back = join(here, 'back');
  symlinkSync('/', join(there, 'tree/out'));
  const out = await runRemora(['cp', '-r', `:${there}/tree`, back], { env });
  expect(out).toEqual({ code: 1, stdout: '', stderr: `left out: ${there}/tree/out is a link\n` });
  expect((await runHere(['cp', `:${there}/tree`, back], env)).err).toContain('is a directory; -r copies it');
  for (const root of [join(there, 'tree'), back]) {
    expect(
      readdirSync(root)
        .filter((name) => name !== 'out')
        .sort(),
    ).toEqual(['deep', 'empty']);
    expect(readdirSync(join(root, 'deep'))).toHaveLength(31);
    expect(readdirSync(join(root, 'empty'))).toEqual([]);
    expect(readFileSync(join(root, 'deep/f29'), 'utf8')).toBe('29');
    expect(readFileSync(join(root, 'deep/er/*[x]\n'), 'utf8')).toBe('odd');
    expect(['deep/f1', 'deep/er', 'empty'].map((path) => modeOf(join(root, path)))).toEqual(['600', '555', '700']);
  }
});

it('says what is wrong, and leaves what was there', async () => {
  const { elsewhere: env } = inside();
  const [here, there] = [tempDir(), tempDir()];
  const large = join(here, 'large');
  writeFileSync(large, '');
  truncateSync(large, 50 * 1024 * 1024);
  const cp = async (...words: string[]) => {
    const { code, err } = await runHere(['cp', ...words], env);
    return [code, err];
  };
  expect(await cp(':/no/such/file', here)).toEqual([1, expect.stringContaining('/no/such/file')]);
  expect(await cp(join(here, 'none'), ':/tmp/')).toEqual([1, expect.stringMatching(/no file or directory .*none/)]);
  expect(await cp(large, `:${there}/no/such/place`)).toEqual([1, expect.stringContaining(`${there}/no`)]);
  expect(await cp(large, `:/proc/version`)).toEqual([1, expect.stringMatching(/^error: .*\/proc/)]);
  expect(await cp(`:${large}`, join(here, 'no/such/place'))).toEqual([
    1,
    expect.stringMatching(/no file or directory/),
  ]);
  expect(await cp('a', 'b')).toEqual([2, expect.stringContaining('one of the two is in a sprite')]);
  expect(await cp('dev-1:a', ':b')).toEqual([2, expect.stringContaining('only one of the two')]);
  expect(await cp('-r', '-', ':/tmp/x')).toEqual([2, expect.stringContaining('- is one stream')]);
  expect(await cp('-s', 'web', 'a', 'dev-1:b')).toEqual([2, expect.stringContaining('name one sprite')]);
});

/** An upload that has begun and whose input does not end. */
async function startUpload(env: Readonly<Record<string, string>>, dir: string) {
  const child = spawn(process.execPath, [remoraPath, 'cp', '-', `:${dir}/kept`], { env: { ...process.env, ...env } });
  onTestFinished(() => void child.kill('SIGKILL'));
  child.stdin.on('error', () => undefined).write('x'.repeat(1024 * 1024));
  let stderr = '';
  child.stderr.on('data', (part: Buffer) => {
    stderr += String(part);
  });
  const ended = once(child, 'close').then(([code]) => ({ code, stderr }));
  await eventually(() => temporariesOf(dir).length > 0);
  return { child, ended };
}

const temporariesOf = (dir: string) => readdirSync(dir).filter((name) => name !== 'kept');

it('puts nothing half written in its place, here or there, when it is stopped or cut', async () => {
  const { elsewhere, machine } = inside();
  const [here, there] = [tempDir(), tempDir()];
  for (const dir of [here, there]) writeFileSync(join(dir, 'kept'), 'old');
  const stopped = await startUpload(elsewhere, there);
  stopped.child.kill('SIGINT');
  expect(await stopped.ended).toEqual({ code: 130, stderr: 'stopped; what was not whole is not there\n' });
  await eventually(() => temporariesOf(there).length === 0);

  const hop = await openCuttable(machine.platform.url);
  const cut = await startUpload({ ...elsewhere, REMORA_URL: hop.url }, there);
  hop.cut();
  expect(await cut.ended).toEqual({
    code: 255,
    stderr: expect.stringMatching(/^error: the connection was lost; .*\n$/),
  });
  await eventually(() => temporariesOf(there).length === 0);
  expect(readFileSync(join(there, 'kept'), 'utf8')).toBe('old');

  writeFileSync(join(there, 'large'), '');
  truncateSync(join(there, 'large'), 8 * 1024 * 1024);
  const short = await openCuttable(machine.platform.url, 3_000_000);
  const env = { ...elsewhere, REMORA_URL: short.url };
  const lost = await runHere(['cp', `:${there}/large`, join(here, 'kept')], env);
  expect([lost.code, lost.err]).toEqual([255, expect.stringContaining('the connection was lost')]);
  expect(readdirSync(here)).toEqual(['kept']);
  expect(readFileSync(join(here, 'kept'), 'utf8')).toBe('old');
});

it('passes a large file, and shows on a terminal how far it is', async () => {
  const { elsewhere } = inside();
  const [here, there] = [tempDir(), tempDir()];
  const source = join(here, 'large');
  writeFileSync(source, Buffer.alloc(30_000_000, 'remora\0\n'));
  expect(await runRemora(['cp', source, `:${there}`], { env: elsewhere })).toEqual({ code: 0, stdout: '', stderr: '' });
  expect(await runHere(['cp', `:${there}/large`, join(here, 'back')], elsewhere)).toMatchObject({ code: 0 });
  expect([sha(join(there, 'large')), sha(join(here, 'back'))]).toEqual([sha(source), sha(source)]);
  const fifo = join(here, 'fifo');
  expect(spawnSync('mkfifo', [fifo]).status).toBe(0);
  const terminal = openTerminalCommand(['cp', fifo, `:${there}/slow`], elsewhere);
  const part = 'head -c 500000 /dev/zero';
  const writer = spawn('sh', ['-c', `exec > "${fifo}"; ${part}; sleep 1; ${part}; sleep 1; ${part}`]);
  onTestFinished(() => void writer.kill('SIGKILL'));
  expect(await terminal.exited).toBe(0);
  expect(terminal.screen()).toMatch(/fifo {2}1\.0 MB {2}\d+\.\d kB\/s/);
  expect(terminal.screen()).toMatch(/1\.5 MB {2}\d+\.\d kB\/s\r?\n$/);
  expect(statSync(join(there, 'slow')).size).toBe(1_500_000);
});

it('does not believe names of a sprite that lead elsewhere', async () => {
  const entry = { size: 1, mode: '4755', modTime: new Date().toISOString(), isDir: false, type: 'file' };
  const names = ['../evil', '..', 'a/b', '', 'good', '\x1b[31m'];
  const entries = names.map((name) => ({ ...entry, name, path: `/srv/${name}` }));
  const server = createServer((request, response) => {
    if (request.url?.includes('/fs/read')) response.end('x');
    else response.end(JSON.stringify({ path: '/srv', entries, count: entries.length }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const here = tempDir();
  const env = { REMORA_URL: `http://127.0.0.1:${port}`, REMORA_API_TOKEN: 'x' };
  const run = await runHere(['cp', '-r', 'web:/srv', join(here, 'in/to')], env);
  expect(run.code).toBe(1);
  expect(run.err.split('\n').filter((line) => line.endsWith('has a name that cannot be used'))).toHaveLength(4);
  expect(readdirSync(join(here, 'in/to')).sort()).toEqual(['\x1b[31m', 'good']);
  expect([readdirSync(here), readdirSync(join(here, 'in')), existsSync(join(here, 'evil'))]).toEqual([
    ['in'],
    ['to'],
    false,
  ]);
  expect(modeOf(join(here, 'in/to/good'))).toBe('755');
});

it.each([
  ['web:/a:b', { type: 'sprite', name: 'web', path: '/a:b' }],
  [':a', { type: 'sprite', name: undefined, path: 'a' }],
  ['web:', { type: 'sprite', name: 'web', path: '' }],
  ['./a:b', { type: 'here', path: './a:b' }],
  ['-', { type: 'stream' }],
  ['plain', { type: 'here', path: 'plain' }],
])('%j is %j', (text, operand) => {
  expect(parseCopyOperand(text)).toEqual(operand);
});

it.each([
  [
    { label: 'a', done_bytes: 500, total_bytes: 1_000, elapsed_ms: 2_000 },
    'a   50% [==========>         ]  500 B  250 B/s  2 s left',
  ],
  [
    { label: 'a', done_bytes: 1_000, total_bytes: 1_000, elapsed_ms: 2_000 },
    'a  100% [====================]  1.0 kB  500 B/s  2 s',
  ],
  [{ label: 'a', done_bytes: 1_500_000, total_bytes: undefined, elapsed_ms: 1_000 }, 'a  1.5 MB  1.5 MB/s'],
  [{ label: 'x'.repeat(80), done_bytes: 0, total_bytes: 0, elapsed_ms: 0 }, `…${'x'.repeat(66)}  0 B  0 B/s`],
])('%j is shown as %j', (progress, line) => {
  expect(toProgressLine(progress, 80)).toBe(line);
});
