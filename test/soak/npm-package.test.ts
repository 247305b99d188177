// The package for npm as somebody installs it: npm puts it and what it names into an empty directory, and `npx remora` runs, on the Node of this
// repository and on the oldest one that the package takes. It is not run at every commit because all of it comes from the registry.
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { ask } from '../support/ask.ts';
import { openOnce } from '../support/at-end.ts';
import { startDev } from '../support/dev-process.ts';
import { loudly } from '../support/loudly.ts';
import { packKit } from '../support/packed-kit.ts';
import { tempDir } from '../support/temp-dir.ts';

const { engines, version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
const [oldest = ''] = /\d+/.exec(engines.node) ?? [];
const isAlone = loudly(
  spawnSync('npm', ['view', 'better-sqlite3', 'version'], { timeout: 30_000 }).status !== 0,
  'no registry of npm is reached: its package is not installed',
);

describe.skipIf(isAlone)('the package for npm', () => {
  const opened = openOnce(async () => {
    const dir = tempDir();
    writeFileSync(join(dir, 'package.json'), '{}');
    const words = ['install', '--prefer-offline', '--no-audit', '--no-fund', await packKit()];
    execFileSync('npm', words, { cwd: dir, stdio: 'pipe' });
    return dir;
  }, 300_000);
  let dir = '';
  beforeAll(() => {
    dir = opened();
  });

  /** An environment in which `node` is this one. */
  const withNode = (place: string) => ({ PATH: `${place}${delimiter}${process.env.PATH}` });
  const npx = (place: string, ...words: string[]) =>
    execFileSync('npx', ['--no-install', 'remora', ...words], {
      cwd: dir,
      env: { ...process.env, ...withNode(place) },
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
    });

  function fetchNode(): string {
    const to = tempDir();
    mkdirSync(join(to, 'node'));
    const name = `node-linux-${process.arch}@${oldest}`;
    execFileSync('npm', ['pack', '--silent', '--prefer-offline', '--pack-destination', to, name], { stdio: 'pipe' });
    const [tarball = ''] = readdirSync(to).filter((each) => each.endsWith('.tgz'));
    execFileSync('tar', ['xzf', join(to, tarball), '-C', join(to, 'node'), '--strip-components=1']);
    return join(to, 'node/bin');
  }

  it('has the licences of what is built into it', () => {
    const text = readFileSync(join(dir, 'node_modules/remora/dist/LICENSES'), 'utf8');
    for (const name of ['pino', 'undici', 'zod']) expect(text).toMatch(new RegExp(`^${name} \\d`, 'm'));
  });

  it.each([
    ['the Node of this repository', () => dirname(process.execPath)],
    ['the oldest Node that it takes', fetchNode],
  ])('runs all of `remora dev` by %s', async (_, toPlace) => {
    const place = toPlace();
    expect(npx(place, '--version')).toBe(`${version}\n`);
    const launcher = join(dir, 'node_modules/remora/dist/remora');
    await using dev = await startDev({ dir: tempDir(), launcher, env: withNode(place) });
    const { socket } = dev.record;
    await expect.poll(async () => (await ask(socket, { target: '/v1/ready' })).status).toBe(200);
    const node = execFileSync(join(place, 'node'), ['--version'], { encoding: 'utf8' }).trim();
    expect(npx(place, 'status', '--socket', socket)).toContain(`Node ${node},`);
    expect(npx(place, 'exec', '--socket', socket, '-T', '--', 'echo', 'ran')).toBe('ran\n');
    const answer = await ask(socket, { target: '/v1/gateway/sample/sample/hello' });
    expect([answer.status, answer.text]).toEqual([200, expect.stringContaining('Bearer sk-s…')]);
  });
});
