// The connectors of every organization. What is secret is stored closed and read only to be opened by the vault.
import { type ConnectionType, connectionType } from '../../contract/connectors.ts';
import type { Sqlite } from '../../sqlite/open.ts';
import type { ClosedSecret } from '../vault/vault.ts';

export interface ConnectorRow {
  readonly id: string;
  readonly organization_id: string;
  readonly provider: string;
  readonly provider_account_id: string;
  readonly provider_account_name: string | null;
  readonly connection_type: ConnectionType;
  readonly base_api_url: string | null;
  /** The policy as the text that is stored; null when there is none. One that cannot be read denies. */
  readonly access_policy: string | null;
  readonly closed: ClosedSecret;
  /** Separated by commas; null where there is no such thing. */
  readonly scopes: string | null;
  /** When the access token ends; null for what does not. */
  readonly token_expires_at: number | null;
  /** Since when the provider refuses to renew the authorization. */
  readonly authorization_ended_at: number | null;
  readonly user_id: string | null;
  /** Goes up with every new credential. */
  readonly credential_version: number;
  readonly inserted_at: number;
  readonly updated_at: number;
}

export interface NewConnector
  extends Pick<
      ConnectorRow,
      | 'id'
      | 'organization_id'
      | 'provider'
      | 'provider_account_id'
      | 'connection_type'
      | 'base_api_url'
      | 'access_policy'
      | 'closed'
    >,
    Partial<Pick<ConnectorRow, 'provider_account_name' | 'scopes' | 'token_expires_at' | 'user_id'>> {}

/** What comes with another credential. An access policy that is not named stays. */
export interface CredentialChange extends Pick<ConnectorRow, 'closed' | 'scopes' | 'token_expires_at'> {
  readonly provider_account_name?: string | null;
  readonly access_policy?: string;
}

export interface ConnectorStore {
  /** False when the id is taken. */
  insert(connector: NewConnector, now_ms: number): boolean;
  find(organization_id: string, id: string): ConnectorRow | undefined;
  /** By provider and id; of one provider when named. */
  list(organization_id: string, provider: string | undefined): readonly ConnectorRow[];
  /** False when there is no such connector. */
  setPolicy(organization_id: string, id: string, policy: string, now_ms: number): boolean;
  /** False when the credential is not the one of that version any more. Ends `authorization_ended_at`. */
  setCredential(row: ConnectorRow, change: CredentialChange, now_ms: number): boolean;
  /** Changes nothing when the credential is not the one of that version any more. */
  endAuthorization(row: ConnectorRow, now_ms: number): void;
  /** The newest connector by OAuth to this account. */
  findAccount(organization_id: string, provider: string, account_id: string): ConnectorRow | undefined;
  /** Those whose credential was closed with another key than this one, by id. */
  listClosedOtherwise(key_id: string, after: string, limit: number): readonly ConnectorRow[];
  /** Puts the data key closed with another key in its place. False when the credential has changed in between. */
  setDataKey(row: ConnectorRow, closed: ClosedSecret): boolean;
  /** False when there is no such connector. */
  delete(organization_id: string, id: string): boolean;
  /** The ids of the vault keys without which some credential cannot be opened. */
  listKeyIds(): readonly string[];
}

interface StoredConnector extends Omit<ConnectorRow, 'connection_type' | 'closed'>, ClosedSecret {
  readonly connection_type: string;
}

export function createConnectorStore(db: Sqlite): ConnectorStore {
  const insert = db.prepare<[Omit<NewConnector, 'closed'> & ClosedSecret & { readonly now_ms: number }]>(
    `INSERT INTO connectors (id, organization_id, provider, provider_account_id, provider_account_name, connection_type,
                             base_api_url, access_policy, key_id, data_key, secret, scopes, token_expires_at, user_id,
                             inserted_at, updated_at)
     VALUES (@id, @organization_id, @provider, @provider_account_id, @provider_account_name, @connection_type,
             @base_api_url, @access_policy, @key_id, @data_key, @secret, @scopes, @token_expires_at, @user_id,
             @now_ms, @now_ms) ON CONFLICT (id) DO NOTHING`,
  );
  const credential = db.prepare<
    [string, Buffer, Buffer, string | null, number | null, string | null, string | null, number, string, number]
  >(
    `UPDATE connectors SET key_id = ?, data_key = ?, secret = ?, scopes = ?, token_expires_at = ?,
       provider_account_name = coalesce(?, provider_account_name), access_policy = coalesce(?, access_policy),
       authorization_ended_at = NULL, credential_version = credential_version + 1, updated_at = ?
     WHERE id = ? AND credential_version = ?`,
  );
  const ended = db.prepare<[number, string, number]>(
    'UPDATE connectors SET authorization_ended_at = ? WHERE id = ? AND credential_version = ?',
  );
  const ofAccount = db.prepare<[string, string, string], StoredConnector>(
    `SELECT * FROM connectors WHERE organization_id = ? AND provider = ? AND provider_account_id = ?
       AND connection_type = 'oauth' ORDER BY inserted_at DESC, id LIMIT 1`,
  );
  const otherwise = db.prepare<[string, string, number], StoredConnector>(
    'SELECT * FROM connectors WHERE key_id <> ? AND id > ? ORDER BY id LIMIT ?',
  );
  const dataKey = db.prepare<[string, Buffer, string, number, string]>(
    'UPDATE connectors SET key_id = ?, data_key = ? WHERE id = ? AND credential_version = ? AND key_id = ?',
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
      const { closed, ...named } = row;
      const absent = { provider_account_name: null, scopes: null, token_expires_at: null, user_id: null };
      return insert.run({ ...absent, ...named, ...closed, now_ms }).changes > 0;
    },
    find(organization_id, id) {
      const stored = byId.get(organization_id, id);
      return stored === undefined ? undefined : parseRow(stored);
    },
    list: (organization_id, provider) =>
      (provider === undefined ? all.all(organization_id) : ofProvider.all(organization_id, provider)).map(parseRow),
    setPolicy: (organization_id, id, value, now_ms) => policy.run(value, now_ms, organization_id, id).changes > 0,
    setCredential({ id, credential_version }, change, now_ms) {
      const { closed, scopes, token_expires_at, provider_account_name = null, access_policy = null } = change;
      const { key_id, data_key, secret } = closed;
      const values = [
        key_id,
        data_key,
        secret,
        scopes,
        token_expires_at,
        provider_account_name,
        access_policy,
      ] as const;
      return credential.run(...values, now_ms, id, credential_version).changes > 0;
    },
    endAuthorization({ id, credential_version }, now_ms) {
      ended.run(now_ms, id, credential_version);
    },
    findAccount(organization_id, provider, account_id) {
      const stored = ofAccount.get(organization_id, provider, account_id);
      return stored === undefined ? undefined : parseRow(stored);
    },
    listClosedOtherwise: (key_id, after, limit) => otherwise.all(key_id, after, limit).map(parseRow),
    setDataKey: ({ id, credential_version, closed }, { key_id, data_key }) =>
      dataKey.run(key_id, data_key, id, credential_version, closed.key_id).changes > 0,
    delete: (organization_id, id) => remove.run(organization_id, id).changes > 0,
    listKeyIds: () => keyIds.all().map((row) => row.key_id),
  };
}

function parseRow({ key_id, data_key, secret, ...stored }: StoredConnector): ConnectorRow {
  return {
    ...stored,
    // A damaged type must not take the list along; nothing opens the credential of an `internal` connector.
    connection_type: connectionType.safeParse(stored.connection_type).data ?? 'internal',
    closed: { key_id, data_key, secret },
  };
}
