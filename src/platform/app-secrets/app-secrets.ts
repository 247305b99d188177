// The secrets of apps (Extensions API, What the service does, 1): set by operators and by extensions, closed in the vault, and opened
// for the machines of the app alone.
import { createHmac } from 'node:crypto';
import type { AppSecret, SecretOwner } from '../../contract/app-secrets.ts';
import { APP_SECRETS_MAX, APP_SECRETS_MAX_BYTES, toVariableBytes } from '../../contract/secret-name.ts';
import { type Clock, toDateTime } from '../../core/clock.ts';
import { RemoraError } from '../../core/remora-error.ts';
import type { Secret } from '../../core/secret.ts';
import { randomHex } from '../../core/urandom.ts';
import type { Changes } from '../changes.ts';
import type { Sql } from '../storage/storage.ts';
import type { Vault } from '../vault/vault.ts';
import { type AppSecretRow, createAppSecretStore, toAppSecretPlace } from './app-secret-store.ts';

/** Whose secrets, and in which app. */
export interface SecretHome {
  readonly organization_id: string;
  readonly app: string;
  readonly owner: SecretOwner;
}

/** `sql` is that of the caller's transaction, in the turn of the app; after its commit the caller says so with `published`. */
export interface AppSecrets {
  /**
   * Makes `values` all that the owner has set in the app; a value that stays keeps its digest and its time. Names and values are checked
   * by the caller, with `secretName` and `secretValue`. Throws `secret_conflict` for a name that another owner has, and `limit_reached`,
   * both before anything is written.
   */
  attach(sql: Sql, home: SecretHome, values: ReadonlyMap<string, Secret>): Promise<void>;
  /** Sets one secret beside the others of its owner. Throws as `attach` does. */
  set(sql: Sql, home: SecretHome, name: string, value: Secret): Promise<AppSecret>;
  /** Takes away what the owner has set, in every app. */
  detach(sql: Sql, owner: Extract<SecretOwner, { kind: 'extension' }>): Promise<void>;
  /** Throws `not_found`, and `secret_conflict` for a secret of another owner. */
  remove(sql: Sql, home: Pick<SecretHome, 'app' | 'owner'>, name: string): Promise<void>;
  /** Sorted by name, without values. */
  list(app: string): Promise<readonly AppSecret[]>;
  /** Sorted by name. Throws `record_altered` when one of them does not open. */
  open(app: string): Promise<ReadonlyMap<string, Secret>>;
  /** Has the machines of the app told at once that its secrets have changed. Without it they are told within two seconds. */
  published(app: string): void;
}

export interface AppSecretsDeps {
  readonly storage: Sql;
  readonly vault: Pick<Vault, 'close' | 'open' | 'derive'>;
  readonly changes: Pick<Changes, 'publish'>;
  readonly clock: Clock;
}

const ID_BYTES = 10;
const DIGEST_DIGITS = 16;

export function createAppSecrets({ storage, vault, changes, clock }: AppSecretsDeps): AppSecrets {
  function toRow(home: SecretHome, name: string, value: Secret): AppSecretRow {
    const place = { ...home, name, id: `secret_${randomHex(ID_BYTES)}` };
    const closed = vault.close(toAppSecretPlace(place), value);
    return { ...place, closed, digest: toDigest(home.app, name, value), set_at: clock.wall_ms() };
  }

  /** It belongs to app and name, so that equal values in two places do not show as equal. */
  function toDigest(app: string, name: string, value: Secret): string {
    const hmac = createHmac('sha256', vault.derive('digests of app secrets'));
    return hmac
      .update(JSON.stringify([app, name, value.reveal()]))
      .digest('hex')
      .slice(0, DIGEST_DIGITS);
  }

  /** A value that does not open is replaced: its owner has the right one. */
  function isEqual(row: AppSecretRow, value: Secret): boolean {
    try {
      return vault.open(toAppSecretPlace(row), row.closed).reveal() === value.reveal();
    } catch (error) {
      if (error instanceof RemoraError) return false;
      throw error;
    }
  }

  /** Writes the values, and deletes what the owner has besides where `isAll`. */
  async function write(sql: Sql, home: SecretHome, values: ReadonlyMap<string, Secret>, isAll: boolean): Promise<void> {
    const store = createAppSecretStore(sql);
    const rows = await store.list(home.app);
    for (const row of rows) {
      if (values.has(row.name) && !isSame(row.owner, home.owner)) throw toConflict(row, home.owner);
    }
    const replaced = rows.filter((row) => isSame(row.owner, home.owner) && (isAll || values.has(row.name)));
    checkLimits(
      rows.filter((row) => !replaced.includes(row)),
      values,
    );
    for (const row of replaced) {
      const value = values.get(row.name);
      if (value === undefined || !isEqual(row, value)) await store.delete(row);
    }
    const kept = new Set((await store.list(home.app)).map(({ name }) => name));
    for (const [name, value] of values) {
      if (kept.has(name) || (await store.insert(toRow(home, name, value)))) continue;
      const row = await store.find(home.app, name);
      throw row === undefined ? new Error('a secret was neither there nor set') : toConflict(row, home.owner);
    }
  }

  return {
    attach: (sql, home, values) => write(sql, home, values, true),
    async set(sql, home, name, value) {
      await write(sql, home, new Map([[name, value]]), false);
      const row = await createAppSecretStore(sql).find(home.app, name);
      if (row === undefined) throw new Error('a secret that was set is gone');
      return toRecord(row);
    },
    detach: (sql, owner) => createAppSecretStore(sql).deleteOf(owner),
    async remove(sql, { app, owner }, name) {
      const store = createAppSecretStore(sql);
      const row = await store.find(app, name);
      if (row === undefined) throw new RemoraError('not_found', `the app ${app} has no secret ${name}`);
      if (!isSame(row.owner, owner)) throw toConflict(row, owner);
      await store.delete(row);
    },
    list: async (app) => (await createAppSecretStore(storage).list(app)).map(toRecord),
    async open(app) {
      const rows = await createAppSecretStore(storage).list(app);
      return new Map(rows.map((row) => [row.name, vault.open(toAppSecretPlace(row), row.closed)]));
    },
    published: (app) => changes.publish({ type: 'app_secrets_changed', app }),
  };
}

function checkLimits(others: readonly AppSecretRow[], values: ReadonlyMap<string, Secret>): void {
  const count = others.length + values.size;
  // The seal has a few bytes more than the value.
  let bytes = others.reduce((sum, { name, closed }) => sum + name.length + closed.secret.length, 0);
  for (const [name, value] of values) bytes += toVariableBytes(name, value.reveal());
  if (count <= APP_SECRETS_MAX && bytes <= APP_SECRETS_MAX_BYTES) return;
  const message = `an app has at most ${APP_SECRETS_MAX} secrets, and ${APP_SECRETS_MAX_BYTES} bytes of them; delete one first`;
  throw new RemoraError('limit_reached', message, {
    details: { limit: APP_SECRETS_MAX, bytes: APP_SECRETS_MAX_BYTES },
  });
}

function toConflict({ app, name, owner }: AppSecretRow, by: SecretOwner): RemoraError {
  const message = `${name} of the app ${app} is set by ${toWords(owner)}, and not by ${toWords(by)}: one of the two must give it up`;
  return new RemoraError('secret_conflict', message, { details: { name, owner, by } });
}

function toWords(owner: SecretOwner): string {
  return owner.kind === 'operator' ? 'an operator' : `the extension ${owner.id}`;
}

function isSame(a: SecretOwner, b: SecretOwner): boolean {
  if (a.kind === 'operator' || b.kind === 'operator') return a.kind === b.kind;
  return a.id === b.id;
}

function toRecord({ name, digest, owner, set_at }: AppSecretRow): AppSecret {
  return { name, digest, owner, set_at: toDateTime(set_at) };
}
