// What the operator does with extension providers: registers, changes and deletes them, and makes their secrets.
import type {
  CreateExtensionProviderRequest,
  ExtensionSecretKind,
  UpdateExtensionProviderRequest,
} from '../../contract/extension-providers.ts';
import type { Clock } from '../../core/clock.ts';
import { refuseField } from '../../core/refuse-field.ts';
import { RemoraError } from '../../core/remora-error.ts';
import { Secret } from '../../core/secret.ts';
import { randomHex, randomToken } from '../../core/urandom.ts';
import { createAppStore } from '../apps/app-store.ts';
import type { Sql, Storage } from '../storage/storage.ts';
import type { Vault } from '../vault/vault.ts';
import type { ExtensionProvider } from './extension-provider.ts';
import { createExtensionProviderStore, type ExtensionProviderRow } from './extension-provider-store.ts';
import { parseProviderBaseUrl, parseRedirectUri } from './provider-address.ts';
import { createProviderSecretStore, toProviderSecretPlace } from './provider-secret-store.ts';

export interface RegisteredProvider {
  readonly provider: ExtensionProvider;
  /** Shown once. */
  readonly secrets: Readonly<Record<ExtensionSecretKind, Secret>>;
}

export interface ProviderRegistration {
  /** Throws `invalid_request` naming the field, `not_found` for an app that is not there, `already_exists`. */
  create(given: CreateExtensionProviderRequest): Promise<RegisteredProvider>;
  /** Throws `not_found`, and `invalid_request` naming the field. */
  update(name: string, change: UpdateExtensionProviderRequest): Promise<ExtensionProvider>;
  /** The previous secret is good until `previous_expires_at`, in Unix milliseconds. Throws `not_found`. */
  rotate(
    name: string,
    kind: ExtensionSecretKind,
    overlap_ms: number,
  ): Promise<{ readonly secret: Secret; readonly previous_expires_at: number }>;
  /** Throws `not_found`, and `conflict` while it has extensions. */
  delete(name: string): Promise<void>;
}

export interface ProviderRegistrationDeps {
  readonly storage: Pick<Storage, 'transaction'>;
  readonly vault: Pick<Vault, 'close'>;
  readonly clock: Clock;
}

const SECRET_BYTES = 32;
const prefixes = { provisioning: 'remora_prov', webhook: 'remora_hook', client: 'remora_client' } as const;

export function createProviderRegistration(deps: ProviderRegistrationDeps): ProviderRegistration {
  const { storage, vault, clock } = deps;

  async function addSecret(sql: Sql, provider: string, kind: ExtensionSecretKind): Promise<Secret> {
    const secret = new Secret(`${prefixes[kind]}_${randomToken(SECRET_BYTES)}`);
    const row = { id: `exs_${randomHex(10)}`, provider, kind };
    const closed = vault.close(toProviderSecretPlace(row), secret);
    await createProviderSecretStore(sql).insert({ ...row, closed }, clock.wall_ms());
    return secret;
  }

  return {
    create: (given) =>
      storage.transaction(async (sql) => {
        const { name } = given;
        const client_id = `remora_${randomHex(12)}`;
        const row = await toRow(sql, { ...fresh, name, client_id, created_at: clock.wall_ms() }, given);
        const store = createExtensionProviderStore(sql);
        if (!(await store.insert(row))) {
          throw new RemoraError('already_exists', `there is an extension provider ${name} already`);
        }
        const secrets = {
          provisioning: await addSecret(sql, name, 'provisioning'),
          webhook: await addSecret(sql, name, 'webhook'),
          client: await addSecret(sql, name, 'client'),
        };
        return { provider: await find(sql, name), secrets };
      }, toProviderTurn(given.name)),
    update: (name, change) =>
      storage.transaction(async (sql) => {
        const row = await toRow(sql, await find(sql, name), change);
        await createExtensionProviderStore(sql).update(row);
        return await find(sql, name);
      }, toProviderTurn(name)),
    rotate: (name, kind, overlap_ms) =>
      storage.transaction(async (sql) => {
        await find(sql, name);
        const now_ms = clock.wall_ms();
        const previous_expires_at = now_ms + overlap_ms;
        await createProviderSecretStore(sql).retire(name, kind, previous_expires_at, now_ms);
        return { secret: await addSecret(sql, name, kind), previous_expires_at };
      }, toProviderTurn(name)),
    delete: (name) =>
      storage.transaction(async (sql) => {
        await find(sql, name);
        const store = createExtensionProviderStore(sql);
        const count = await store.countExtensions(name);
        if (count > 0) {
          const message = `the provider has ${count === 1 ? 'an extension' : `${count} extensions`}; delete them first`;
          throw new RemoraError('conflict', message, { details: { extensions: count } });
        }
        await store.forgetDeletedExtensions(name);
        await store.delete(name);
      }, toProviderTurn(name)),
  };
}

const fresh = {
  base_url: '',
  redirect_uris: [],
  app: null,
  region_aware: false,
  official: false,
  latency_sensitive: false,
  events: [],
  revenue_share_bp: 0,
} as const;

async function find(sql: Sql, name: string): Promise<ExtensionProvider> {
  const found = await createExtensionProviderStore(sql).find(name);
  if (found === undefined) throw new RemoraError('not_found', `there is no extension provider ${name}`);
  return found;
}

async function toRow(
  sql: Sql,
  known: ExtensionProviderRow,
  change: UpdateExtensionProviderRequest,
): Promise<ExtensionProviderRow> {
  const { base_url, redirect_uris, ...rest } = change;
  const given = Object.fromEntries(Object.entries(rest).filter(([, value]) => value !== undefined));
  const row: ExtensionProviderRow = {
    ...known,
    ...given,
    name: known.name,
    ...(base_url === undefined ? {} : { base_url: parseProviderBaseUrl(base_url) }),
    ...(redirect_uris === undefined ? {} : { redirect_uris: [...new Set(redirect_uris.map(parseRedirectUri))] }),
    ...(change.events === undefined ? {} : { events: [...new Set(change.events)] }),
  };
  if (row.app !== null && (await createAppStore(sql).find(row.app)) === undefined) {
    throw refuseField('body.app', `there is no app ${row.app}`);
  }
  if (row.official && row.latency_sensitive && row.app === null) {
    throw refuseField('body.app', 'a latency-sensitive provider runs on this platform to be official; name its app');
  }
  return row;
}

/** The turn of transactions that change a provider, or give it an extension. */
export function toProviderTurn(name: string): string {
  return `extension provider ${name}`;
}
