// `remora platform` and a provider that is made with the kit, each a process of its own that can be killed and started again at the same
// address.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import Database from 'better-sqlite3';
import { z } from 'zod';
import { Secret } from '../../src/core/secret.ts';
import { atEnd } from './at-end.ts';
import { eventually } from './eventually.ts';
import { openFreePort } from './free-port.ts';
import { callPlatform, TEST_KEY } from './open-platform.ts';
import { runHere } from './run-here.ts';
import { remoraPath } from './run-remora.ts';
import { REDIRECT_URI } from './sign-on-client.ts';
import { tempDir } from './temp-dir.ts';

export type Side = 'platform' | 'provider';

const childPath = new URL('./kit-provider-child.ts', import.meta.url).pathname;
/** Longer than the kit leaves a webhook, or an extension, to a process that may be dead. */
const LEASE_MS = 61_000;
const resourceRow = z.object({ id: z.int(), extension: z.string(), region: z.string().nullable() });

interface Running {
  readonly child: ChildProcess;
  /** What it has written to standard output. */
  readonly lines: string[];
}

function start(words: readonly string[], said: string[]): Running {
  const child = spawn(process.execPath, words, { stdio: ['pipe', 'pipe', 'pipe'] });
  child.stdin.on('error', () => undefined);
  child.stderr.on('data', (chunk) => said.push(String(chunk)));
  const lines: string[] = [];
  createInterface({ input: child.stdout }).on('line', (line) => {
    lines.push(line);
    said.push(line);
  });
  return { child, lines };
}

/** The first line that fits, after the first `from` of them. */
async function lineOf({ child, lines }: Running, fits: (line: string) => boolean, from = 0): Promise<string> {
  return await eventually(() => {
    const found = lines.slice(from).find(fits);
    if (found === undefined && child.exitCode !== null) throw new Error(`it has ended: ${lines.slice(-3).join('\n')}`);
    return found;
  });
}

async function end({ child }: Running): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.kill('SIGKILL');
  await ended;
}

/** Opens one with an app `web`, a user, and the provider `kit`. */
export async function openKillableExtensions() {
  const own = tempDir();
  const [dir, kitDir] = [join(own, 'platform'), join(own, 'kit')];
  mkdirSync(kitDir);
  const [keyFile, tokenFile] = [join(own, 'key'), join(own, 'token')];
  writeFileSync(keyFile, TEST_KEY.reveal(), { mode: 0o600 });
  /** What both processes have ever said. */
  const said: string[] = [];

  async function startPlatform(port: string) {
    const words = ['--dir', dir, '--key-file', keyFile, '--organization', 'acme', '--token-file', tokenFile];
    const running = start([remoraPath, 'platform', ...words, '--token-rate', '1000000', '--port', port], said);
    const line = await lineOf(running, (each) => each.includes('"serving"'));
    return { ...running, url: String(JSON.parse(line).url) };
  }
  let platform = await startPlatform(String(await openFreePort()));
  atEnd(() => end(platform));
  const { url } = platform;

  const kitPort = String(await openFreePort());
  let kit = start([childPath, kitDir, kitPort], said);
  atEnd(() => end(kit));
  await lineOf(kit, (line) => line === kitPort);

  // biome-ignore lint/suspicious/noExplicitAny: the fields of answers are what the tests compare.
  async function operate(...words: string[]): Promise<any> {
    const { code, out, err } = await runHere(['platform', ...words, '--json', '--dir', dir]);
    if (code !== 0) throw new Error(err);
    return JSON.parse(out);
  }
  const addresses = ['--base-url', `http://127.0.0.1:${kitPort}/remora`, '--redirect-uri', REDIRECT_URI];
  const client = await operate('extension-provider', 'create', 'kit', ...addresses, '--region-aware');
  const email = 'ada@example.com';
  const member = ['--name', 'Ada', '--organization', 'acme', '--role', 'admin'];
  const user = { email, ...(await operate('user', 'create', email, ...member)) };

  let ahead_ms = 0;
  let commandedAt = 0;
  async function serveKit(): Promise<void> {
    const { provisioning_secret: provisioning, webhook_secret: webhook } = client;
    kit.child.stdin?.write(`${JSON.stringify({ platformUrl: url, provisioning, webhook, ahead_ms })}\n`);
    await lineOf(kit, (line) => line === 'serving');
  }
  await serveKit();

  const token = new Secret(readFileSync(tokenFile, 'utf8').trim());
  const call = (method: string, path: string, body?: unknown) => callPlatform(url, { method, path, body, token });
  await call('POST', '/v1/apps', { name: 'web' });
  const list = async () => {
    const { extensions } = (await call('GET', '/v1/extensions?max_results=100')).json;
    return extensions as { id: string; provider_id: string; name: string; state: string; status: string }[];
  };

  return {
    own,
    dir,
    keyFile,
    tokenFile,
    said,
    url,
    client,
    user,
    operate,
    call,
    list,
    pids: () => [platform.child.pid, kit.child.pid],
    create: (name: string) =>
      call('POST', '/v1/extensions', { provider: 'kit', name, app: 'web', user_id: user.user_id }),
    /** Has the provider do what its file says. */
    async command(line: string): Promise<void> {
      const from = kit.lines.length;
      commandedAt = from;
      kit.child.stdin?.write(`${line}\n`);
      await lineOf(kit, (each) => each === `done ${line}`, from);
    },
    /** Waits until so many changes are held at this step, since the last command. */
    async reach(step: string, count: number): Promise<void> {
      await eventually(() => kit.lines.slice(commandedAt).filter((line) => line === `at ${step}`).length >= count);
    },
    /** Kills a process, and starts the next one. */
    async replace(side: Side): Promise<void> {
      if (side === 'platform') {
        await end(platform);
        platform = await startPlatform(new URL(url).port);
      } else {
        await end(kit);
        ahead_ms += LEASE_MS;
        kit = start([childPath, kitDir, kitPort], said);
        await lineOf(kit, (line) => line === kitPort);
        await serveKit();
      }
    },
    /** What the provider has. */
    listResources() {
      const db = new Database(join(kitDir, 'resources.db'), { readonly: true });
      const rows = z.array(resourceRow).parse(db.prepare('SELECT * FROM resources ORDER BY id').all());
      db.close();
      return rows;
    },
  };
}
