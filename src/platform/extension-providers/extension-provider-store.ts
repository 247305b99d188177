// The extension providers as the database has them.
import { z } from 'zod';
import { extensionEvent } from '../../contract/extension-providers.ts';
import type { Sql } from '../storage/storage.ts';
import type { ExtensionProvider } from './extension-provider.ts';

export type ExtensionProviderRow = Omit<ExtensionProvider, 'organization_id'>;

export interface ExtensionProviderStore {
  /** False when the name is taken. */
  insert(provider: ExtensionProviderRow): Promise<boolean>;
  /** False when there is no such provider. */
  update(provider: ExtensionProviderRow): Promise<boolean>;
  find(name: string): Promise<ExtensionProvider | undefined>;
  findByClientId(client_id: string): Promise<ExtensionProvider | undefined>;
  /** The providers that run as this app, by name. */
  listOfApp(app: string): Promise<readonly ExtensionProvider[]>;
  /** Sorted by name. */
  list(): Promise<readonly ExtensionProvider[]>;
  /** How many extensions it has, also those that are being deleted. */
  countExtensions(name: string): Promise<number>;
  /** Deletes what is kept of extensions that are deleted. */
  forgetDeletedExtensions(name: string): Promise<void>;
  /** Its secrets go with it. False when there is no such provider. */
  delete(name: string): Promise<boolean>;
}

interface Stored
  extends Omit<ExtensionProvider, 'redirect_uris' | 'events' | 'region_aware' | 'official' | 'latency_sensitive'> {
  readonly redirect_uris: string;
  readonly events: string;
  readonly region_aware: number;
  readonly official: number;
  readonly latency_sensitive: number;
}

const select = `SELECT p.*, a.organization_id FROM extension_providers p LEFT JOIN apps a ON a.name = p.app`;
const texts = z.array(z.string());
const eventList = z.array(extensionEvent);

export function createExtensionProviderStore(sql: Sql): ExtensionProviderStore {
  const one = async (where: string, value: string) => {
    const found = await sql.one<Stored>(`${select} WHERE ${where} = $1`, [value]);
    return found === undefined ? undefined : parse(found);
  };
  return {
    async insert(provider) {
      const text = `
INSERT INTO extension_providers (name, base_url, redirect_uris, app, region_aware, official, latency_sensitive, events,
                                 revenue_share_bp, client_id, created_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) ON CONFLICT DO NOTHING`;
      return (await sql.run(text, [...toValues(provider), provider.client_id, provider.created_at])) > 0;
    },
    async update(provider) {
      const text = `
UPDATE extension_providers SET base_url = $2, redirect_uris = $3, app = $4, region_aware = $5, official = $6,
  latency_sensitive = $7, events = $8, revenue_share_bp = $9 WHERE name = $1`;
      return (await sql.run(text, toValues(provider))) > 0;
    },
    find: (name) => one('p.name', name),
    findByClientId: (client_id) => one('p.client_id', client_id),
    listOfApp: async (app) => (await sql.all<Stored>(`${select} WHERE p.app = $1 ORDER BY p.name`, [app])).map(parse),
    list: async () => (await sql.all<Stored>(`${select} ORDER BY p.name`)).map(parse),
    async countExtensions(name) {
      const text = "SELECT count(*) AS count FROM extensions WHERE provider = $1 AND state <> 'deleted'";
      return (await sql.one<{ readonly count: number }>(text, [name]))?.count ?? 0;
    },
    async forgetDeletedExtensions(name) {
      await sql.run("DELETE FROM extensions WHERE provider = $1 AND state = 'deleted'", [name]);
    },
    delete: async (name) => (await sql.run('DELETE FROM extension_providers WHERE name = $1', [name])) > 0,
  };
}

function toValues(provider: ExtensionProviderRow) {
  const { name, base_url, redirect_uris, app, region_aware, official, latency_sensitive, events, revenue_share_bp } =
    provider;
  const flags = [region_aware, official, latency_sensitive].map(Number);
  return [name, base_url, JSON.stringify(redirect_uris), app, ...flags, JSON.stringify(events), revenue_share_bp];
}

/** A list that is damaged counts as empty: nothing is redirected to, and nothing is notified. */
function parse({ redirect_uris, events, region_aware, official, latency_sensitive, ...stored }: Stored) {
  return {
    ...stored,
    redirect_uris: texts.safeParse(toJson(redirect_uris)).data ?? [],
    events: eventList.safeParse(toJson(events)).data ?? [],
    region_aware: region_aware !== 0,
    // Its app may have been deleted.
    official: official !== 0 && (latency_sensitive === 0 || stored.app !== null),
    latency_sensitive: latency_sensitive !== 0,
  };
}

function toJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
