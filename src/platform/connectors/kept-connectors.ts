// Keeps the connectors that calls name, as they are stored, for as long as nothing in the database changes. Their credentials stay closed.
import { KeptRecords } from '../storage/kept-records.ts';
import type { Storage } from '../storage/storage.ts';
import type { ConnectorRow, ConnectorStore } from './records/connector-store.ts';

/** What all connectors that are kept may take, and what one takes beside its long texts; about. */
const KEPT_BYTES = 16 * 1024 * 1024;
const ROW_BYTES = 2_000;

export interface KeptConnectors {
  /** See `Storage`. */
  look(): Promise<void> | undefined;
  /** See `ConnectorStore`. One that is kept comes at once, as of the last look, and of what this process has written since. */
  find(organization_id: string, id: string): ConnectorRow | Promise<ConnectorRow | undefined>;
}

export function createKeptConnectors(
  connectors: Pick<ConnectorStore, 'find'>,
  storage: Pick<Storage, 'look' | 'version'>,
): KeptConnectors {
  const kept = new KeptRecords<ConnectorRow>(storage, { max: KEPT_BYTES, sizeOf });
  return {
    look: () => storage.look(),
    find(organization_id, id) {
      const key = `${organization_id} ${id}`;
      const place = { owner: organization_id, key };
      return (
        kept.get(key) ??
        kept.read(
          () => connectors.find(organization_id, id),
          () => place,
        )
      );
    },
  };
}

function sizeOf({ access_policy, base_api_url, scopes, closed }: ConnectorRow): number {
  const texts = [access_policy, base_api_url, scopes].reduce((size, text) => size + 2 * (text?.length ?? 0), 0);
  return ROW_BYTES + texts + closed.data_key.length + closed.secret.length;
}
