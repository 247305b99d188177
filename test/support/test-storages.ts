// The storages that the store tests run on: each test opens one that is empty, and another opening of it for a second process.
import { openPostgresStorage } from '../../src/platform/storage/postgres-storage.ts';
import { openSqliteStorage } from '../../src/platform/storage/sqlite-storage.ts';
import type { Storage } from '../../src/platform/storage/storage.ts';
import { memoryDir } from './memory-dir.ts';
import { isWithoutPostgres, openPostgresServer, type PostgresServer } from './postgres-server.ts';

export interface TestStorages {
  readonly name: string;
  readonly skip: boolean;
  start(): Promise<void>;
  end(): Promise<void>;
  /** Opens the same empty database each time the returned function is called. */
  create(): Promise<() => Promise<Storage>>;
}

export function toTestStorages(): readonly TestStorages[] {
  let server: PostgresServer | undefined;
  return [
    {
      name: 'SQLite',
      skip: false,
      start: async () => undefined,
      end: async () => undefined,
      async create() {
        const dir = memoryDir();
        return async () => openSqliteStorage(dir);
      },
    },
    {
      name: 'PostgreSQL',
      skip: isWithoutPostgres(),
      async start() {
        server = await openPostgresServer();
      },
      end: async () => await server?.[Symbol.asyncDispose](),
      async create() {
        const url = await server?.createDatabase();
        if (url === undefined) throw new Error('there is no server');
        return () => openPostgresStorage(url);
      },
    },
  ];
}
