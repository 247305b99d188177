// The stores that the sample sells, in SQLite: keys and values, each store with an access key, within the limits of its plan.
import { createHash, timingSafeEqual } from 'node:crypto';
import { z } from 'zod';
import { RemoraError } from '../../../core/remora-error.ts';
import { Secret } from '../../../core/secret.ts';
import { randomHex, randomToken } from '../../../core/urandom.ts';
import { openDatabase } from '../../../sqlite/open.ts';
import { type Charge, createCharges } from './kv-charges.ts';
import { KEY_CHARS_MAX, type KvPlan, kvPlan, planLimits, STORES_MAX, VALUE_BYTES_MAX } from './kv-plans.ts';

export interface KvStore {
  readonly id: string;
  readonly name: string;
  readonly organization_id: string;
  readonly plan: KvPlan;
}

export interface KvEntry {
  readonly key: string;
  readonly bytes: number;
  /** Unix milliseconds. */
  readonly updated_ms: number;
}

export interface KvStores extends Disposable {
  /** The access key can be shown only now. Throws `limit_reached`. The same `extension_id` gives the same store with a new access key. */
  create(store: Omit<KvStore, 'id' | 'plan'> & { readonly extension_id: string }): {
    readonly id: string;
    readonly accessKey: Secret;
  };
  find(id: string): KvStore | undefined;
  rename(id: string, name: string): void;
  setPlan(id: string, plan: KvPlan): void;
  remove(id: string): void;
  /** Whether the key opens the store, found out in constant time. */
  opens(id: string, accessKey: string): boolean;
  usage(id: string): { readonly keys: number; readonly bytes: number };
  /** The entries, ordered by key, at most `limit` after `after`. */
  list(id: string, after: string, limit: number): readonly KvEntry[];
  get(id: string, key: string): Buffer | undefined;
  /** Throws `invalid_request`, `payload_too_large`, and `limit_reached` when the plan has no room. */
  put(id: string, key: string, value: Uint8Array): void;
  /** False when there was no such key. */
  delete(id: string, key: string): boolean;
  /** Costs of whole days from `from_ms` to `to_ms`. */
  charges(from_ms: number, to_ms: number): readonly Charge[];
}

const migrations = [
  `CREATE TABLE stores (
     id TEXT PRIMARY KEY,
     extension_id TEXT NOT NULL UNIQUE,
     name TEXT NOT NULL,
     organization_id TEXT NOT NULL,
     key_hash BLOB NOT NULL,
     plan TEXT NOT NULL,
     plan_since_ms INTEGER NOT NULL
   ) STRICT;
   CREATE TABLE entries (
     store_id TEXT NOT NULL REFERENCES stores (id) ON DELETE CASCADE,
     key TEXT NOT NULL,
     value BLOB NOT NULL,
     bytes INTEGER NOT NULL,
     updated_ms INTEGER NOT NULL,
     PRIMARY KEY (store_id, key)
   ) STRICT;
   CREATE INDEX entries_by_size ON entries (store_id, bytes);
   CREATE TABLE charges (
     store_id TEXT NOT NULL,
     day INTEGER NOT NULL,
     cents INTEGER NOT NULL,
     PRIMARY KEY (store_id, day)
   ) STRICT, WITHOUT ROWID;`,
];

const storeRow = z.object({ id: z.string(), name: z.string(), organization_id: z.string(), plan: kvPlan });
const entryRow = z.object({ key: z.string(), bytes: z.number(), updated_ms: z.number() });
const usageRow = z.object({ keys: z.number(), bytes: z.number() });
const hashRow = z.object({ key_hash: z.instanceof(Buffer) });
const valueRow = z.object({ value: z.instanceof(Buffer) });
const idRow = z.object({ id: z.string() });

export function openKvStores(path: string, now_ms: () => number): KvStores {
  const { db } = openDatabase(path, { migrations, onDamage: 'refuse' });
  const charges = createCharges(db);
  const byId = db.prepare('SELECT id, name, organization_id, plan FROM stores WHERE id = ?');
  const insert = db.prepare(
    `INSERT INTO stores (id, extension_id, name, organization_id, key_hash, plan, plan_since_ms)
     VALUES (@id, @extension_id, @name, @organization_id, @key_hash, 'free', @now_ms)
     ON CONFLICT (extension_id) DO UPDATE SET key_hash = @key_hash RETURNING id`,
  );
  const count = db.prepare('SELECT count(*) FROM stores').pluck();
  const rename = db.prepare('UPDATE stores SET name = ? WHERE id = ?');
  const setPlan = db.prepare('UPDATE stores SET plan = ?, plan_since_ms = ? WHERE id = ?');
  const remove = db.prepare('DELETE FROM stores WHERE id = ?');
  const keyHash = db.prepare('SELECT key_hash FROM stores WHERE id = ?');
  const usage = db.prepare('SELECT count(*) AS keys, total(bytes) AS bytes FROM entries WHERE store_id = ?');
  const list = db.prepare(
    'SELECT key, bytes, updated_ms FROM entries WHERE store_id = ? AND key > ? ORDER BY key LIMIT ?',
  );
  const get = db.prepare('SELECT value FROM entries WHERE store_id = ? AND key = ?');
  const put = db.prepare(
    `INSERT INTO entries (store_id, key, value, bytes, updated_ms) VALUES (@id, @key, @value, @bytes, @now_ms)
     ON CONFLICT (store_id, key) DO UPDATE SET value = @value, bytes = @bytes, updated_ms = @now_ms`,
  );
  const drop = db.prepare('DELETE FROM entries WHERE store_id = ? AND key = ?');

  const find = (id: string) => {
    const row = byId.get(id);
    return row === undefined ? undefined : storeRow.parse(row);
  };
  const usageOf = (id: string) => usageRow.parse(usage.get(id));

  function checkRoom(id: string, key: string, bytes: number): void {
    const store = find(id);
    if (store === undefined) throw new RemoraError('not_found', 'there is no such store');
    const before = get.get(id, key);
    const used = usageOf(id);
    const limits = planLimits[store.plan];
    const keys = used.keys + (before === undefined ? 1 : 0);
    const total = used.bytes + bytes - (before === undefined ? 0 : valueRow.parse(before).value.length);
    if (keys > limits.keys || total > limits.bytes) {
      throw new RemoraError(
        'limit_reached',
        `the plan ${store.plan} has ${limits.keys} keys and ${limits.bytes} bytes`,
      );
    }
  }

  return {
    create: db.transaction(({ extension_id, name, organization_id }) => {
      if (Number(count.get()) >= STORES_MAX) throw new RemoraError('limit_reached', 'all stores are sold');
      const accessKey = new Secret(`kv_${randomToken(24)}`);
      const made = { id: `kv_${randomHex(8)}`, extension_id, name, organization_id, now_ms: now_ms() };
      const { id } = idRow.parse(insert.get({ ...made, key_hash: toHash(accessKey.reveal()) }));
      return { id, accessKey };
    }),
    find,
    rename: (id, name) => void rename.run(name, id),
    setPlan: db.transaction((id: string, plan: KvPlan) => {
      charges.settle(now_ms());
      setPlan.run(plan, now_ms(), id);
    }),
    remove: db.transaction((id: string) => {
      charges.settle(now_ms());
      remove.run(id);
    }),
    opens(id, accessKey) {
      const row = keyHash.get(id);
      const wanted = row === undefined ? Buffer.alloc(32) : hashRow.parse(row).key_hash;
      return timingSafeEqual(toHash(accessKey), wanted) && row !== undefined;
    },
    usage: usageOf,
    list: (id, after, limit) => list.all(id, after, limit).map((row) => entryRow.parse(row)),
    get(id, key) {
      const row = get.get(id, key);
      return row === undefined ? undefined : valueRow.parse(row).value;
    },
    put: db.transaction((id: string, key: string, value: Uint8Array) => {
      if (key === '' || key.length > KEY_CHARS_MAX) {
        throw new RemoraError('invalid_request', `a key has 1 to ${KEY_CHARS_MAX} characters`);
      }
      if (value.length > VALUE_BYTES_MAX) {
        throw new RemoraError('payload_too_large', `a value has at most ${VALUE_BYTES_MAX} bytes`);
      }
      checkRoom(id, key, value.length);
      put.run({ id, key, value: Buffer.from(value), bytes: value.length, now_ms: now_ms() });
    }),
    delete: (id, key) => drop.run(id, key).changes > 0,
    charges(from_ms, to_ms) {
      charges.settle(now_ms());
      return charges.list(from_ms, to_ms);
    },
    [Symbol.dispose]: () => db.close(),
  };
}

function toHash(accessKey: string): Buffer {
  return createHash('sha256').update(accessKey).digest();
}
