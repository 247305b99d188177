// What a provider's kit keeps, in one SQLite file: nonces, extensions and webhooks to deliver. Several processes of a host may share it.
import type { Secret } from '../../core/secret.ts';
import type { NonceBook } from './nonce-book.ts';
import type { Outbox } from './outbox.ts';
import type { ResourceBook } from './resource-book.ts';
import { createSeal } from './seal.ts';
import { createSqliteNonces } from './sqlite-nonces.ts';
import { createSqliteOutbox } from './sqlite-outbox.ts';
import { createSqliteResources } from './sqlite-resources.ts';

export interface ProviderStore extends Disposable {
  readonly nonces: NonceBook;
  readonly resources: ResourceBook;
  readonly outbox: Outbox;
}

export interface SqliteStoreOptions {
  readonly path: string;
  /** Closes the answers to provisioning requests, which hold secrets. Losing it loses these answers. */
  readonly sealKey: Secret;
}

/** Append, never edit. */
const migrations = [
  `CREATE TABLE nonces (nonce TEXT PRIMARY KEY, used_ms INTEGER NOT NULL) STRICT, WITHOUT ROWID;
   CREATE INDEX nonces_by_time ON nonces (used_ms);
   CREATE TABLE resources (
     extension_id TEXT PRIMARY KEY,
     resource_id TEXT,
     organization_id TEXT,
     sealed_answer BLOB,
     gone_ms INTEGER,
     holder TEXT,
     held_until_ms INTEGER
   ) STRICT, WITHOUT ROWID;
   CREATE INDEX resources_by_id ON resources (resource_id);
   CREATE INDEX resources_by_end ON resources (gone_ms) WHERE gone_ms IS NOT NULL;
   CREATE TABLE notices (
     id INTEGER PRIMARY KEY AUTOINCREMENT,
     resource_id TEXT NOT NULL,
     notice TEXT NOT NULL,
     added_ms INTEGER NOT NULL,
     tries INTEGER NOT NULL DEFAULT 0,
     due_ms INTEGER
   ) STRICT;
   CREATE INDEX notices_by_resource ON notices (resource_id, id);
   CREATE INDEX notices_by_time ON notices (due_ms) WHERE due_ms IS NOT NULL;`,
];

/** Opens or makes the file, for its owner alone. Throws when it is damaged: it is the only copy. */
export async function openSqliteStore({ path, sealKey }: SqliteStoreOptions): Promise<ProviderStore> {
  const { openDatabase } = await import('../../sqlite/open.ts');
  const { db } = openDatabase(path, { migrations, onDamage: 'refuse' });
  return {
    nonces: createSqliteNonces(db),
    resources: createSqliteResources(db, createSeal(sealKey)),
    outbox: createSqliteOutbox(db),
    [Symbol.dispose]: () => db.close(),
  };
}
