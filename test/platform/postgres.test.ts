// What PostgreSQL alone can do to a platform: be begun on by several, be newer, be silent, lose a connection, refuse a text.

import type { AddressInfo, Socket } from 'node:net';
import { createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { inspect } from 'node:util';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { Secret } from '../../src/core/secret.ts';
import { createOrganizationStore } from '../../src/platform/organizations/organization-store.ts';
import { migratePostgres } from '../../src/platform/storage/migrate-postgres.ts';
import { createPostgresLocks } from '../../src/platform/storage/postgres-locks.ts';
import { createPostgresSession } from '../../src/platform/storage/postgres-session.ts';
import { openPostgresStorage } from '../../src/platform/storage/postgres-storage.ts';
import { type Storage, StorageFailure } from '../../src/platform/storage/storage.ts';
import { eventually } from '../support/eventually.ts';
import { isWithoutPostgres, openPostgresServer, type PostgresServer } from '../support/postgres-server.ts';
import { signalRunning } from '../support/signal-running.ts';

describe('an address', () => {
  const addresses = [
    'postgres://u:hunter2@127.0.0.1:1/db',
    'postgres://u:hunter2@[broken/db',
    'postgres://u:hunter2@host:port/db',
    'mysql://u:hunter2@127.0.0.1/db',
    'hunter2',
  ];
  test.each(addresses)('%s that cannot be used is in no error', async (address) => {
    const error: unknown = await openPostgresStorage(new Secret(address)).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(Error);
    expect(inspect(error, { depth: 9, showHidden: true })).not.toContain('hunter2');
  });

  test('at which nobody ever answers is given up, and nothing is left waiting', async () => {
    const sockets = new Set<Socket>();
    const silent = createServer((socket) => sockets.add(socket));
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => {
      for (const socket of sockets) socket.destroy();
      silent.close();
    });
    const { port } = silent.address() as AddressInfo;
    const url = new Secret(`postgres://u@127.0.0.1:${port}/db`);
    const session = createPostgresSession({ url, statement_ms: 100, answer_ms: 200 });
    await expect(session.run('SELECT 1')).rejects.toThrow('does not answer');
    await expect(session.run('SELECT 1')).rejects.toThrow('connection to the database was lost');
    await session.end();
  });
});

describe.skipIf(isWithoutPostgres())('PostgreSQL', () => {
  let server: PostgresServer;
  beforeAll(async () => {
    server = await openPostgresServer();
  });
  afterAll(async () => {
    await server[Symbol.asyncDispose]();
  });

  async function open(url: Secret): Promise<Storage> {
    const storage = await openPostgresStorage(url);
    onTestFinished(() => storage[Symbol.asyncDispose]());
    return storage;
  }

  function openSession(url: Secret, statement_ms = 5_000) {
    const session = createPostgresSession({ url, statement_ms });
    onTestFinished(() => session.end());
    return session;
  }

  test('is brought up to date once by five that start at once, and by nobody later', async () => {
    const url = await server.createDatabase();
    const opened = await Promise.all(Array.from({ length: 5 }, () => open(url)));
    await createOrganizationStore(opened[0] ?? (await open(url))).create('acme', 1);
    expect(await createOrganizationStore(await open(url)).list()).toHaveLength(1);
  });

  test('of a newer version is refused and left as it is', async () => {
    const url = await server.createDatabase();
    const session = openSession(url);
    await migratePostgres(session, ['CREATE TABLE a (b TEXT)', 'CREATE TABLE c (d TEXT)']);
    await migratePostgres(session, ['CREATE TABLE a (b TEXT)', 'CREATE TABLE c (d TEXT)', 'CREATE TABLE e (f TEXT)']);
    const older = openSession(url);
    await expect(migratePostgres(older, ['CREATE TABLE a (b TEXT)'])).rejects.toThrow('written by a newer version');
    await session.run('INSERT INTO e VALUES ($1)', ['x']);
  });

  test('whose migration fails keeps nothing of it', async () => {
    const url = await server.createDatabase();
    await expect(migratePostgres(openSession(url), ['CREATE TABLE a (b TEXT)', 'CREATE nonsense'])).rejects.toThrow(
      'syntax',
    );
    const found = await openSession(url).all("SELECT tablename FROM pg_tables WHERE schemaname = 'public'");
    expect(found).toEqual([]);
  });

  test('with another encoding than UTF-8 is refused', async () => {
    await server.ask("CREATE DATABASE latin ENCODING 'LATIN1' LOCALE_PROVIDER libc LOCALE 'C' TEMPLATE template0");
    const url = new Secret((await server.createDatabase()).reveal().replace(/test_\d+/, 'latin'));
    await expect(open(url)).rejects.toMatchObject({ code: 'not_configured' });
  });

  test('takes no text with NUL, which is the fault of its sender', async () => {
    const storage = await open(await server.createDatabase());
    const found = storage.one('SELECT id FROM sprites WHERE name = $1', ['a\0b']);
    await expect(found).rejects.toMatchObject({ code: 'invalid_request' });
    expect(await storage.all('SELECT id FROM sprites WHERE name = $1', ['a'])).toEqual([]);
  });

  test('ends a statement that takes too long, and a turn that is not had', async () => {
    const url = await server.createDatabase();
    const session = openSession(url, 500);
    await expect(session.run('SELECT pg_sleep(5)')).rejects.toBeInstanceOf(StorageFailure);
    expect(await session.all('SELECT 1 AS one')).toEqual([{ one: 1 }]);
    const holder = openSession(url);
    await holder.run('SELECT pg_advisory_lock(hashtextextended($1, 0))', ['turn']);
    await expect(session.run('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', ['turn'])).rejects.toBeInstanceOf(
      StorageFailure,
    );
  });

  test('that loses a connection in a transaction loses all of the transaction', async () => {
    const storage = await open(await server.createDatabase());
    const organizations = createOrganizationStore(storage);
    const work = storage.transaction(async (sql) => {
      await createOrganizationStore(sql).create('before', 1);
      const row = await sql.one<{ pid: number }>('SELECT pg_backend_pid() AS pid');
      await server.ask(`SELECT pg_terminate_backend(${row?.pid})`);
      await sleep(50);
      await createOrganizationStore(sql).create('after', 1);
    });
    await expect(work).rejects.toBeInstanceOf(StorageFailure);
    expect(await organizations.list()).toEqual([]);
    await storage.transaction(async (sql) => void (await createOrganizationStore(sql).create('again', 1)));
    expect(await organizations.list()).toHaveLength(1);
  });

  test('that is silent is given up by the caller that waits, and serves again when it goes on', async () => {
    const url = await server.createDatabase();
    const session = createPostgresSession({ url, statement_ms: 5_000, answer_ms: 3_000 });
    const row = await session.one<{ pid: number }>('SELECT pg_backend_pid() AS pid');
    signalRunning(row?.pid, 'SIGSTOP');
    try {
      await expect(session.run('SELECT 1')).rejects.toThrow('does not answer');
    } finally {
      signalRunning(row?.pid, 'SIGCONT');
    }
    await session.end();
    expect(await openSession(url).all('SELECT 1 AS one')).toEqual([{ one: 1 }]);
  });

  describe('a lock', () => {
    test('is had by one process at a time, and by the next when its connection is lost', async () => {
      const url = await server.createDatabase();
      const [one, other] = [0, 1].map(() => createPostgresLocks({ openSession: () => openSession(url) }));
      if (one === undefined || other === undefined) throw new Error('two were made');
      const order: string[] = [];
      const ended = Promise.withResolvers<void>();
      const first = one.exclusively('a', async () => {
        order.push('first');
        await ended.promise;
      });
      await eventually(() => order.length === 1);
      const second = other.exclusively('a', async () => void order.push('second'));
      await other.exclusively('b', async () => void order.push('beside'));
      await sleep(200);
      expect(order).toEqual(['first', 'beside']);
      await server.ask(
        "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND granted AND database = (SELECT oid FROM pg_database WHERE datname LIKE 'test\\_%' ORDER BY oid DESC LIMIT 1)",
      );
      await second;
      ended.resolve();
      await first;
      expect(await one.exclusively('a', async () => 'had again')).toBe('had again');
    });

    test('that another one keeps is not waited for without end', async () => {
      const url = await server.createDatabase();
      const holder = openSession(url);
      await holder.run('SELECT pg_advisory_lock(hashtextextended($1, 0))', ['a']);
      const locks = createPostgresLocks({ openSession: () => openSession(url), wait_ms: 1_000 });
      await expect(locks.exclusively('a', async () => undefined)).rejects.toBeInstanceOf(StorageFailure);
      await holder.end();
      expect(await locks.exclusively('a', async () => 'had')).toBe('had');
    });
  });

  test('has room for more transactions than there are connections', async () => {
    const storage = await open(await server.createDatabase());
    const made = Array.from({ length: 30 }, (_, index) =>
      storage.transaction(async (sql) => await createOrganizationStore(sql).create(`o-${index}`, 1)),
    );
    expect(await Promise.all(made)).toHaveLength(30);
    const counted = await server.ask(
      "SELECT count(*)::int AS n FROM pg_stat_activity WHERE application_name = 'remora platform'",
    );
    expect(Number(counted[0]?.n)).toBeLessThan(30);
  });
});
