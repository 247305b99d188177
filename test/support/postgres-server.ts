// A PostgreSQL server of a test file in a directory of its own, in memory where there is room, reached through a Unix socket there. It is
// not safe from the end of the machine: what is tested is what we make of it.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, existsSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import postgres from 'postgres';
import { Secret } from '../../src/core/secret.ts';
import { eventually } from './eventually.ts';
import { loudly } from './loudly.ts';
import { makeMemoryDir } from './memory-dir.ts';

export interface PostgresServer extends AsyncDisposable {
  /** The address of a new and empty database. */
  createDatabase(): Promise<Secret>;
  /** Asks as its superuser, in the database `postgres`. */
  ask(text: string): Promise<readonly Record<string, unknown>[]>;
  start(): Promise<void>;
  stop(signal?: 'SIGINT' | 'SIGQUIT' | 'SIGKILL'): Promise<void>;
  readonly pid: number | undefined;
}

interface Owner {
  readonly uid: number;
  readonly gid: number;
}

const bin = findBinaries();

/** Says for `describe.skipIf` when there are no binaries of PostgreSQL here. */
export const isWithoutPostgres = () =>
  loudly(
    bin === undefined,
    'PostgreSQL is not installed (Debian: apt-get install postgresql); nothing of it is tested',
  );

export async function openPostgresServer(): Promise<PostgresServer> {
  if (bin === undefined) throw new Error('PostgreSQL is not installed');
  const owner = findOwner();
  const dir = makeMemoryDir();
  chownSync(dir, owner.uid, owner.gid);
  const data = join(dir, 'data');
  execFileSync('cp', ['-a', preparedData(bin, owner), data]);
  // A commit is in the kernel before it is answered, so that no end of the server loses it.
  const durability = ['fsync=off', 'full_page_writes=off'];
  // Nothing changes but what a test changes.
  const settings = [...durability, 'autovacuum=off', 'listen_addresses=', 'shared_buffers=32MB'];
  const args = ['-D', data, '-k', dir, ...settings.flatMap((setting) => ['-c', setting])];
  let child: ChildProcess | undefined;
  let databases = 0;
  const address = (name: string) => `postgres://postgres@localhost/${name}?host=${dir}`;
  const onExit = () => void child?.kill('SIGQUIT');
  process.on('exit', onExit);

  async function ask(text: string) {
    const sql = postgres({ host: dir, username: 'postgres', database: 'postgres', max: 1, onnotice: () => undefined });
    try {
      return await sql.unsafe(text);
    } finally {
      await sql.end({ timeout: 1 });
    }
  }

  const server: PostgresServer = {
    ask,
    get pid() {
      return child?.pid;
    },
    async createDatabase() {
      databases += 1;
      const name = `test_${databases}`;
      await ask(`CREATE DATABASE ${name}`);
      return new Secret(address(name));
    },
    async start() {
      await eventually(() => {
        // A server that was killed leaves processes behind for a moment, and the next one refuses to start beside them.
        if (child === undefined || child.exitCode !== null || child.signalCode !== null) {
          child = spawn(join(bin, 'postgres'), args, { ...owner, cwd: dir, stdio: 'ignore' });
        }
        return ask('SELECT 1').catch(() => undefined);
      });
    },
    async stop(signal = 'SIGINT') {
      const stopped = child;
      child = undefined;
      if (stopped === undefined || stopped.exitCode !== null || stopped.signalCode !== null) return;
      stopped.kill(signal);
      await once(stopped, 'exit');
    },
    async [Symbol.asyncDispose]() {
      await server.stop('SIGQUIT');
      process.off('exit', onExit);
      rmSync(dir, { recursive: true, force: true });
    },
  };
  await server.start();
  return server;
}

/** What a server begins with, which takes a second to make: made by the first who asks, and kept until the end of the run. */
function preparedData(bin: string, owner: Owner): string {
  const prepared = join(tmpdir(), 'pg-prepared');
  if (existsSync(prepared)) return prepared;
  const dir = mkdtempSync(join(tmpdir(), 'pg-'));
  chownSync(dir, owner.uid, owner.gid);
  const data = join(dir, 'data');
  // Another order than that of bytes, so that a list in the wrong order shows.
  const locale = ['--locale=C.UTF-8', '--locale-provider=icu', '--icu-locale=en-US'];
  const initdb = ['-D', data, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--no-sync', ...locale];
  execFileSync(join(bin, 'initdb'), initdb, { ...owner, cwd: dir, stdio: ['ignore', 'ignore', 'inherit'] });
  try {
    renameSync(data, prepared);
  } catch {
    // Another process was faster.
  }
  rmSync(dir, { recursive: true, force: true });
  return prepared;
}

/** Debian keeps them out of the PATH, one directory a version. */
function findBinaries(): string | undefined {
  const root = '/usr/lib/postgresql';
  const versions = existsSync(root) ? readdirSync(root).sort((a, b) => Number(b) - Number(a)) : [];
  const places = [
    ...versions.map((version) => join(root, version, 'bin')),
    ...(process.env.PATH ?? '').split(delimiter),
  ];
  return places.find((place) => ['initdb', 'postgres'].every((name) => existsSync(join(place, name))));
}

/** PostgreSQL refuses to run as root. */
function findOwner(): Owner {
  const [uid = -1, gid = -1] = [process.getuid?.(), process.getgid?.()];
  if (uid !== 0) return { uid, gid };
  const users = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .map((line) => line.split(':'));
  const user = ['postgres', 'nobody'].map((name) => users.find((fields) => fields[0] === name)).find(Boolean);
  if (user === undefined) throw new Error('there is no user to run PostgreSQL as');
  return { uid: Number(user[2]), gid: Number(user[3]) };
}
