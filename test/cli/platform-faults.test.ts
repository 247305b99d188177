// What keeps a platform process from its start: each fault ends it with code 1 and one line that names what is at fault.
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, it, onTestFinished } from 'vitest';
import { openLock } from '../../src/sqlite/lock.ts';
import { runRemora } from '../support/run-remora.ts';
import { tempDir } from '../support/temp-dir.ts';

interface Fault {
  readonly name: string;
  /** Flags and variables with which the start fails, in the directory of the platform. */
  make(dir: string): Promise<Start> | Start;
  readonly said: RegExp;
}

interface Start {
  readonly words?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

function write(path: string, text: string): string {
  writeFileSync(path, text, { mode: 0o600 });
  return path;
}

const faults: readonly Fault[] = [
  {
    name: 'the database is no database',
    make(dir) {
      write(join(dir, 'platform.db'), 'x'.repeat(10_000));
      return {};
    },
    said: /platform\.db cannot be used \(file is not a database\).*platform backup/,
  },
  {
    name: 'the database is of a newer version',
    make(dir) {
      const newer = new Database(join(dir, 'platform.db'));
      newer.pragma('user_version = 999');
      newer.close();
      return {};
    },
    said: /platform\.db was written by a newer version \(schema 999/,
  },
  {
    name: 'another process uses the directory',
    make(dir) {
      const lock = openLock(join(dir, 'platform.lock'));
      onTestFinished(() => lock[Symbol.dispose]());
      return {};
    },
    said: /another process uses .*; stop it or choose another directory/,
  },
  {
    name: 'the port of the metrics is taken',
    async make() {
      const server = createServer().listen(0, '127.0.0.1');
      await once(server, 'listening');
      onTestFinished(() => void server.close());
      return { words: ['--metrics-listen', `127.0.0.1:${(server.address() as AddressInfo).port}`] };
    },
    said: /cannot listen on 127\.0\.0\.1:\d+: another process listens there/,
  },
  {
    name: 'the socket of the operator is a file of somebody',
    make(dir) {
      write(join(dir, 'platform.sock'), 'precious');
      return {};
    },
    said: /platform\.sock exists and is not a socket/,
  },
  {
    name: 'the directory cannot be made',
    make: () => ({ words: ['--dir', '/proc/remora'] }),
    said: /the directory \/proc\/remora cannot be made there; choose another/,
  },
  {
    name: 'the directory cannot be written',
    // Not by root either.
    make: () => ({ words: ['--dir', '/proc/sys'] }),
    said: /the directory \/proc\/sys cannot be used: \/proc\/sys\/platform\.lock cannot be written \(.*\); choose another/,
  },
  {
    name: 'the file that keeps other processes out cannot be opened',
    make(dir) {
      mkdirSync(join(dir, 'platform.lock'));
      return {};
    },
    said: /the directory .* cannot be used: .*platform\.lock cannot be written \(.*\); choose another/,
  },
  {
    name: 'the directory is below a file',
    make: (dir) => ({ words: ['--dir', join(write(join(dir, 'file'), ''), 'below')] }),
    said: /a part of .*\/below is a file, and a directory is expected/,
  },
  {
    name: 'PostgreSQL cannot be reached',
    make: () => ({ env: { REMORA_DATABASE_URL: 'postgres://user:hunter2@127.0.0.1:1/remora' } }),
    said: /the database server cannot be reached.*127\.0\.0\.1:1/,
  },
  {
    name: 'the file of the providers is no TOML',
    make: (dir) => ({ words: ['--providers', write(join(dir, 'bad.toml'), '\na = = 3\n')] }),
    said: /bad\.toml, line 2: Invalid TOML/,
  },
  {
    name: 'the vault key is none',
    make: () => ({ env: { REMORA_PLATFORM_KEY: 'hunter2' } }),
    said: /a vault key must be 32 bytes/,
  },
];

it.each(faults)(
  '$name',
  async ({ make, said }) => {
    const dir = tempDir();
    const { words = [], env = {} } = await make(dir);
    const run = await runRemora(['platform', '--dir', dir, '--port', '0', ...words], {
      env: { REMORA_PLATFORM_KEY: 'ab'.repeat(32), ...env },
    });
    expect(run.code, run.stderr).toBe(1);
    expect(run.stderr).toMatch(/^error: [^\n]*\n$/);
    expect(run.stderr).toMatch(said);
    expect(run.stdout + run.stderr).not.toMatch(/hunter2|node:|\n +at /);
    const socket = join(dir, 'platform.sock');
    if (existsSync(socket)) expect(readFileSync(socket, 'utf8')).toBe('precious');
  },
  60_000,
);
