// Opening a database that is missing, damaged, unreadable or of a newer schema.
import { spawnSync } from 'node:child_process';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { randomBytes } from '../../src/core/urandom.ts';
import { openDatabase, openDatabaseOrMemory } from '../../src/sqlite/open.ts';
import { startChild } from '../support/child-lines.ts';
import { tempDir } from '../support/temp-dir.ts';

const migrations = ['CREATE TABLE notes (id INTEGER PRIMARY KEY, text TEXT NOT NULL) STRICT'];
const child = new URL('../support/database-child.ts', import.meta.url).pathname;

function fill(path: string, rows = 500): void {
  const { db } = openDatabase(path, { migrations });
  const insert = db.prepare('INSERT INTO notes (text) VALUES (?)');
  db.transaction(() => {
    for (let n = 0; n < rows; n += 1) insert.run('x'.repeat(200));
  })();
  db.close();
}

function count(path: string): unknown {
  const { db, state } = openDatabase(path, { migrations });
  const { n } = db.prepare<[], { n: number }>('SELECT count(*) AS n FROM notes').get() ?? {};
  db.close();
  return [state, n];
}

describe('a database file', () => {
  test('is made with its directory, for its owner only', () => {
    const path = join(tempDir(), 'state', 'a.db');
    const { db, state, reason } = openDatabase(path, { migrations });
    expect([state, reason]).toEqual(['file', undefined]);
    expect(db.pragma('journal_mode', { simple: true })).toBe('wal');
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(statSync(join(path, '..')).mode & 0o777).toBe(0o700);
    db.close();
  });

  test('keeps as much of itself in memory as was said, and 16 MB otherwise', () => {
    const sizes = [{}, { pageCache_bytes: 1024 * 1024 }].map((how) => {
      const { db } = openDatabase(join(tempDir(), 'a.db'), { migrations, ...how });
      const size_kb = db.pragma('cache_size', { simple: true });
      db.close();
      return size_kb;
    });
    expect(sizes).toEqual([-16_000, -1_024]);
  });

  test('keeps its rows and its schema number', () => {
    const path = join(tempDir(), 'a.db');
    fill(path);
    expect(count(path)).toEqual(['file', 500]);
    const more = [...migrations, 'ALTER TABLE notes ADD COLUMN more TEXT', 'CREATE TABLE other (id INTEGER)'];
    const { db } = openDatabase(path, { migrations: more });
    expect(db.pragma('user_version', { simple: true })).toBe(3);
    db.close();
  });

  test('of a process that was killed keeps what was committed', async () => {
    const path = join(tempDir(), 'a.db');
    const writer = startChild(process.execPath, [child, path, 'write']);
    await writer.line(/^written 50$/);
    writer.process.kill('SIGKILL');
    await writer.ended;
    expect(existsSync(`${path}-wal`)).toBe(true);
    const [state, rows] = count(path) as [string, number];
    expect(state).toBe('file');
    expect(rows).toBeGreaterThanOrEqual(50);
  });

  test('a migration that fails leaves the schema as it was', () => {
    const path = join(tempDir(), 'a.db');
    fill(path);
    const broken = [...migrations, 'CREATE TABLE half (id INTEGER); CREATE TABLE notes (id INTEGER)'];
    expect(() => openDatabase(path, { migrations: broken })).toThrow(/notes already exists/);
    expect(count(path)).toEqual(['file', 500]);
    const { db } = openDatabase(path, { migrations: [...migrations, 'CREATE TABLE half (id INTEGER)'] });
    db.close();
  });

  test('of a newer version is refused and left alone', () => {
    const path = join(tempDir(), 'a.db');
    openDatabase(path, { migrations: [...migrations, 'CREATE TABLE newer (id INTEGER)'] }).db.close();
    const before = readFileSync(path);
    expect(() => openDatabase(path, { migrations })).toThrow(/newer version \(schema 2, this one knows 1\)/);
    expect(readFileSync(path)).toEqual(before);
    const opened = openDatabaseOrMemory(path, { migrations });
    expect([opened.state, opened.reason]).toEqual(['memory', expect.stringContaining('newer version')]);
    opened.db.close();
  });
});

describe('a damaged file', () => {
  test.each<[string, (path: string) => void]>([
    ['text', (path) => writeFileSync(path, 'this is no database, it is a text that somebody put here\n'.repeat(20))],
    ['random bytes', (path) => writeFileSync(path, randomBytes(50_000))],
    ['one that was cut short', (path) => truncateSync(path, 30_000)],
    [
      'one with a page overwritten',
      (path) => {
        const bytes = readFileSync(path);
        bytes.fill(0xa5, 4_096, 12_288);
        writeFileSync(path, bytes);
      },
    ],
  ])('%s is set aside and a new one made', (_name, damage) => {
    const path = join(tempDir(), 'a.db');
    fill(path);
    damage(path);
    const damaged = readFileSync(path);
    const { db, state, reason } = openDatabase(path, { migrations });
    expect([state, reason]).toEqual(['rebuilt', expect.stringContaining(`${path}.damaged`)]);
    db.prepare("INSERT INTO notes (text) VALUES ('new')").run();
    db.close();
    expect(readFileSync(`${path}.damaged`)).toEqual(damaged);
    expect(count(path)).toEqual(['file', 1]);
  });

  test('does not leave its log to the new file', () => {
    const path = join(tempDir(), 'a.db');
    writeFileSync(path, randomBytes(50_000));
    writeFileSync(`${path}-wal`, randomBytes(10_000));
    const { db, state } = openDatabase(path, { migrations });
    expect(state).toBe('rebuilt');
    db.close();
    expect(count(path)).toEqual(['file', 0]);
  });

  test('whose log is whole is recovered from it', async () => {
    const path = join(tempDir(), 'a.db');
    // Some of more rows would be in the file itself, and no more in the log.
    const writer = startChild(process.execPath, [child, path, 'write', '50']);
    await writer.line(/^written 50$/);
    writer.process.kill('SIGKILL');
    await writer.ended;
    writeFileSync(path, 'no database at all, but long enough to be read as a header of one.'.repeat(20));
    const [state, rows] = count(path) as [string, number];
    expect(state).toBe('file');
    expect(rows).toBeGreaterThanOrEqual(50);
  });

  test('a second time replaces what was set aside the first time', () => {
    const path = join(tempDir(), 'a.db');
    for (const text of ['first damage', 'second damage']) {
      writeFileSync(path, text.repeat(100));
      openDatabase(path, { migrations }).db.close();
    }
    expect(readFileSync(`${path}.damaged`, 'utf8')).toMatch(/^second/);
  });
});

describe('leftovers beside the file', () => {
  test('a log of garbage is ignored', () => {
    const path = join(tempDir(), 'a.db');
    fill(path);
    writeFileSync(`${path}-wal`, randomBytes(10_000));
    writeFileSync(`${path}-shm`, randomBytes(32_768));
    expect(count(path)).toEqual(['file', 500]);
  });

  test('a log without its file does not get into the new file', async () => {
    const directory = tempDir();
    const old = join(directory, 'old.db');
    const writer = startChild(process.execPath, [child, old, 'write']);
    await writer.line(/^written 50$/);
    writer.process.kill('SIGKILL');
    await writer.ended;
    const path = join(directory, 'a.db');
    copyFileSync(`${old}-wal`, `${path}-wal`);
    copyFileSync(`${old}-shm`, `${path}-shm`);
    expect(count(path)).toEqual(['file', 0]);
  });
});

describe('where no file can be used', () => {
  const usable = (opened: ReturnType<typeof openDatabaseOrMemory>) => {
    opened.db.prepare("INSERT INTO notes (text) VALUES ('x')").run();
    opened.db.close();
    return [opened.state, opened.reason];
  };

  test('a directory in its place is left alone and the data lives in memory, with the reason', () => {
    const path = join(tempDir(), 'a.db');
    mkdirSync(join(path, 'inside'), { recursive: true });
    expect(() => openDatabase(path, { migrations })).toThrow();
    const told = usable(openDatabaseOrMemory(path, { migrations }));
    expect(told).toEqual(['memory', expect.stringContaining('nothing is kept across a restart')]);
    expect(readdirSync(path)).toEqual(['inside']);
  });

  test('a file where the directory should be', () => {
    const file = join(tempDir(), 'file');
    writeFileSync(file, '');
    expect(usable(openDatabaseOrMemory(join(file, 'a.db'), { migrations }))[0]).toBe('memory');
  });

  test.for([
    ['a database in a read-only directory', '.', 'old.db'],
    ['a read-only directory without a database', '.', 'new.db'],
    ['a read-only file in a directory that can be written', 'old.db', 'old.db'],
  ] as const)('%s', async ([, sealed, name], context) => {
    const directory = tempDir();
    fill(join(directory, 'old.db'));
    const seal = 'mount --bind "$1" "$1" && mount -o remount,bind,ro "$1"';
    const place = join(directory, sealed);
    if (spawnSync('unshare', ['-rm', 'sh', '-c', seal, 'sh', place]).status !== 0)
      context.skip('a read-only mount cannot be made here');
    const path = join(directory, name);
    const run = ['-rm', 'sh', '-c', `${seal} && exec "$2" "$3" "$4" open`, 'sh', place, process.execPath, child, path];
    const opened = JSON.parse(await startChild('unshare', run).line(/^\{/));
    expect(opened).toEqual({ state: 'memory', reason: expect.stringContaining('cannot be used'), rows: 1 });
    expect(readdirSync(directory)).not.toContain('old.db.damaged');
  });

  test('a full disk', async (context) => {
    const directory = tempDir();
    const shell = 'mount -t tmpfs -o size=16k,mode=700 none "$1"';
    if (spawnSync('unshare', ['-rm', 'sh', '-c', shell, 'sh', directory]).status !== 0)
      context.skip('a small disk cannot be made here');
    const run = [
      '-rm',
      'sh',
      '-c',
      `${shell} && exec "$2" "$3" "$1/a.db" open`,
      'sh',
      directory,
      process.execPath,
      child,
    ];
    const opened = JSON.parse(await startChild('unshare', run).line(/^\{/));
    expect(opened).toEqual({ state: 'memory', reason: expect.stringMatching(/full|I\/O/i), rows: 1 });
  });
});
