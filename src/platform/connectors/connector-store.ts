// The connectors of every organization. What is secret is stored closed and read only to be opened by the vault.
import { type ConnectionType, connectionType } from '../../contract/connectors.ts';
import type { Sqlite } from '../../sqlite/open.ts';
import type { ClosedSecret } from '../vault/vault.ts';

export interface ConnectorRow {
  readonly id: string;
  readonly organization_id: string;
  readonly provider: string;
  readonly provider_account_id: string;
  readonly connection_type: ConnectionType;
  readonly base_api_url: string | null;
  /** The policy as the text that is stored; null when there is none. One that cannot be read denies. */
  readonly access_policy: string | null;
  readonly closed: ClosedSecret;
  readonly inserted_at: number;
  readonly updated_at: number;
}

export type NewConnector = Omit<ConnectorRow, 'inserted_at' | 'updated_at'>;

export interface ConnectorStore {
  /** False when the id is taken. */
  insert(connector: NewConnector, now_ms: number): boolean;
  find(organization_id: string, id: string): ConnectorRow | undefined;
  /** By provider and id; of one provider when named. */
  list(organization_id: string, provider: string | undefined): readonly ConnectorRow[];
  /** False when there is no such connector. */
  setPolicy(organization_id: string, id: string, policy: string, now_ms: number): boolean;
  /** False when there is no such connector. */
  delete(organization_id: string, id: string): boolean;
  /** The ids of the vault keys without which some credential cannot be opened. */
  listKeyIds(): readonly string[];
}

interface StoredConnector extends Omit<ConnectorRow, 'connection_type' | 'closed'>, ClosedSecret {
  readonly connection_type: string;
}

export function createConnectorStore(db: Sqlite): ConnectorStore {
  const insert = db.prepare<
    [string, string, string, string, string, string | null, string | null, string, Buffer, Buffer, number, number]
  >(
    `INSERT INTO connectors (id, organization_id, provider, provider_account_id, connection_type, base_api_url,
                             access_policy, key_id, data_key, secret, inserted_at, updated_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING`,
  );
  const byId = db.prepare<[string, string], StoredConnector>(
    'SELECT * FROM connectors WHERE organization_id = ? AND id = ?',
  );
  const all = db.prepare<[string], StoredConnector>(
    'SELECT * FROM connectors WHERE organization_id = ? ORDER BY provider, id',
  );
  const ofProvider = db.prepare<[string, string], StoredConnector>(
    'SELECT * FROM connectors WHERE organization_id = ? AND provider = ? ORDER BY id',
  );
  const policy = db.prepare<[string, number, string, string]>(
    'UPDATE connectors SET access_policy = ?, updated_at = ? WHERE organization_id = ? AND id = ?',
  );
  const remove = db.prepare<[string, string]>('DELETE FROM connectors WHERE organization_id = ? AND id = ?');
  const keyIds = db.prepare<[], { key_id: string }>('SELECT DISTINCT key_id FROM connectors ORDER BY key_id');
  return {
    insert(row, now_ms) {
      const { id, organization_id, provider, provider_account_id, connection_type, base_api_url, closed } = row;
      const { changes } = insert.run(
        id,
        organization_id,
        provider,
        provider_account_id,
        connection_type,
        base_api_url,
        row.access_policy,
        closed.key_id,
        closed.data_key,
        closed.secret,
        now_ms,
        now_ms,
      );
      return changes > 0;
    },
    find(organization_id, id) {
      const stored = byId.get(organization_id, id);
      return stored === undefined ? undefined : parseRow(stored);
    },
    list: (organization_id, provider) =>
      (provider === undefined ? all.all(organization_id) : ofProvider.all(organization_id, provider)).map(parseRow),
    setPolicy: (organization_id, id, value, now_ms) => policy.run(value, now_ms, organization_id, id).changes > 0,
    delete: (organization_id, id) => remove.run(organization_id, id).changes > 0,
    listKeyIds: () => keyIds.all().map((row) => row.key_id),
  };
}

function parseRow({ key_id, data_key, secret, ...stored }: StoredConnector): ConnectorRow {
  return {
    ...stored,
    connection_type: connectionType.parse(stored.connection_type),
    closed: { key_id, data_key, secret },
  };
}
