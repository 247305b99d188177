// An operator's walk with the lines of the README only: from nothing to a call through a connector from an agent in another
// directory; then a restart, another vault key, and a platform restored from a copy, with the agent running all the time; at last a
// database with the first schema that there was.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { stringify } from 'smol-toml';
import { expect, it, onTestFinished } from 'vitest';
import { startEchoProvider } from '../support/echo-provider.ts';
import { eventually } from '../support/eventually.ts';
import { openFreePort } from '../support/free-port.ts';
import { launcherPath } from '../support/run-remora.ts';
import { tempDir } from '../support/temp-dir.ts';

const top = new URL('../../', import.meta.url).pathname.replace(/\/$/, '');
/** The directory of the command. */
const commands = dirname(launcherPath);
const readme = readFileSync(join(top, 'README.md'), 'utf8');
/** A database with the first schema that there was, and the vault key that closes its credentials. */
const firstSchema = join(top, 'test/platform/fixtures/schema-1');
const FIRST_KEY = 'ab'.repeat(32);
const KEY = `sk-${'a1'.repeat(24)}`;

/** The listings of the section, in their order. */
function listings(heading: string): string[] {
  const section = readme.split(/^## /m).find((text) => text.startsWith(`${heading}\n`)) ?? '';
  return [...section.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map(([, text]) => text ?? '');
}

/** A line of a listing that ends with `&`, without that. */
function daemonOf(listing: string): string {
  return /^(remora .*) &$/m.exec(listing)?.[1] ?? '';
}

it('goes from nothing to a call, and keeps what it made through a restart, another key and a restore', async () => {
  const provider = await startEchoProvider();
  const port = await openFreePort();
  const [platformListing = '', agentListing = ''] = listings('Operate');
  const platformDir = tempDir();
  const agentDir = tempDir();
  const providers = join(tempDir(), 'providers.toml');
  writeFileSync(providers, stringify({ providers: [provider.entry('openai'), provider.entry('hub')] }), {
    mode: 0o600,
  });
  const env = {
    PATH: `${commands}:${process.env.PATH ?? ''}`,
    XDG_CONFIG_HOME: join(tempDir(), 'config'),
    OPENAI_API_KEY: KEY,
    NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE ?? '',
  };
  /** What differs from a real machine: where the checkout is, which port is free, and who answers as the provider. */
  const adapt = (text: string) =>
    text
      .replaceAll('/opt/remora/bin', commands)
      .replaceAll('4180', String(port))
      .replace(/^(remora platform --dir \w+)/gm, `$1 --port ${port} --providers '${providers}'`);

  async function bash(dir: string, text: string): Promise<string> {
    const child = spawn('bash', ['-euo', 'pipefail', '-c', text], { cwd: dir, env, stdio: ['ignore', 'pipe', 'pipe'] });
    let out = '';
    for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (part) => (out += part));
    const [code] = await once(child, 'close');
    if (code !== 0) throw new Error(`${code}:\n${text}\n${out}`);
    return out;
  }

  /** A listing whose daemon is a child of the test, so that it can be ended. */
  async function walk(dir: string, listing: string): Promise<{ readonly daemon: ChildProcess; readonly out: string }> {
    const [before = '', after = ''] = adapt(listing).split(/^remora .* &$/m);
    const settings = before.split('\n').filter((line) => line.startsWith('export '));
    await bash(dir, before);
    const daemon = start(dir, [...settings, `exec ${adapt(daemonOf(listing))}`].join('\n'));
    return { daemon, out: await bash(dir, [...settings, after].join('\n')) };
  }

  function start(dir: string, text: string): ChildProcess {
    const child = spawn('bash', ['-c', text], { cwd: dir, env, stdio: 'ignore' });
    onTestFinished(async () => {
      if (child.exitCode === null && child.signalCode === null) {
        child.kill('SIGTERM');
        await once(child, 'exit');
      }
    });
    return child;
  }

  async function end(child: ChildProcess): Promise<void> {
    const ended = once(child, 'exit');
    child.kill('SIGTERM');
    expect(await ended).toEqual([0, null]);
  }

  async function serveAgain(dir = 'data'): Promise<ChildProcess> {
    const line = adapt(daemonOf(platformListing)).replace('--dir data', `--dir ${dir}`);
    const child = start(platformDir, `exec ${line}`);
    await eventually(
      async () => (await fetch(`http://127.0.0.1:${port}/v1/health`).catch(() => undefined))?.ok,
      60_000,
    );
    return child;
  }

  /** Runs the last lines of the agent's listing; who answers sees the credential, which is nowhere in the agent's directory. */
  async function call(): Promise<void> {
    const known = provider.requests.length;
    const [settings, , , ...lines] = adapt(agentListing).trim().split('\n');
    await bash(agentDir, [settings, ...lines].join('\n'));
    expect(provider.requests.length).toBeGreaterThan(known);
    expect(provider.requests.at(-1)).toContain(`Bearer ${KEY}`);
  }

  const { daemon: first, out } = await walk(platformDir, platformListing);
  expect(out).toContain('as acme');
  for (const file of ['web.token', 'web.machine']) copyFileSync(join(platformDir, file), join(agentDir, file));
  await walk(agentDir, agentListing);
  // The platform reaches into the machine.
  const channel = async () =>
    JSON.parse(await bash(agentDir, 'remora status --socket agent.sock --json')).parts.channel.state;
  await expect.poll(channel).toBe('ok');
  await call();

  await end(first);
  const second = await serveAgain();
  await call();

  await end(second);
  await bash(platformDir, '(umask 077; remora platform key; cat key) > keys 2>&1; mv keys key; chmod 600 key');
  const third = await serveAgain();
  expect(await bash(platformDir, 'remora platform rotate --dir data --key-file key')).toMatch(/^1 credentials/);
  await end(third);
  await bash(platformDir, 'head -1 key > new; chmod 600 new; mv new key');
  const fourth = await serveAgain();
  await call();
  await bash(platformDir, 'remora platform backup later.db --dir data; remora sprite create lost');

  await end(fourth);
  mkdirSync(join(platformDir, 'restored'), { mode: 0o700 });
  renameSync(join(platformDir, 'later.db'), join(platformDir, 'restored', 'platform.db'));
  const fifth = await serveAgain('restored');
  await call();
  const { sprites } = JSON.parse(await bash(agentDir, 'remora sprite list --json'));
  expect(sprites.map(({ name }: { name: string }) => name)).toEqual(['web']);
  expect(await bash(platformDir, 'remora sprite list --dir restored')).not.toContain('lost');

  await end(fifth);
  mkdirSync(join(platformDir, 'first'), { mode: 0o700 });
  copyFileSync(join(firstSchema, 'platform.db'), join(platformDir, 'first', 'platform.db'));
  writeFileSync(join(platformDir, 'key'), FIRST_KEY);
  await serveAgain('first');
  const { sprite_token } = JSON.parse(readFileSync(join(firstSchema, 'tokens.json'), 'utf8'));
  const answer = await fetch(`http://127.0.0.1:${port}/v1/gateway/hub/conn_1/x`, {
    headers: { authorization: `Bearer ${sprite_token}` },
  });
  expect(answer.status).toBe(200);
  expect(provider.requests.at(-1)).toContain('Bearer key-1');
}, 180_000);
