// The connectors of every organization. What is secret is stored closed and read only to be opened by the vault.
import { type ConnectionType, connectionType } from '../../../contract/connectors.ts';
import type { Sql } from '../../storage/storage.ts';
import { type ClosedSecret, UNBOUND_VERSION } from '../../vault/vault.ts';
import { readConnectorPages } from './connector-pages.ts';

export interface ConnectorRow {
  readonly id: string;
  /** The name that people gave it, unique in the organization; null when it has none. */
  readonly name: string | null;
  readonly organization_id: string;
  readonly provider: string;
  readonly provider_account_id: string;
  readonly provider_account_name: string | null;
  readonly connection_type: ConnectionType;
  readonly base_api_url: string | null;
  /** The policy as the text that is stored; null when there is none. One that cannot be read denies. */
  readonly access_policy: string | null;
  readonly closed: ClosedSecret;
  /** Separated by commas; null for a connector without scopes. */
  readonly scopes: string | null;
  /** When the access token ends; null for a credential that does not end. */
  readonly token_expires_at: number | null;
  /** How long the access token was good when it was issued; null when it does not end or this was not stored. */
  readonly token_lifetime_ms: number | null;
  /** The time since which the provider refuses to renew the authorization. */
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
    Partial<
      Pick<
        ConnectorRow,
        'name' | 'provider_account_name' | 'scopes' | 'token_expires_at' | 'token_lifetime_ms' | 'user_id'
      >
    > {}

/** What is stored with a new credential. An access policy that is not named stays. */
export interface CredentialChange
  extends Pick<ConnectorRow, 'closed' | 'scopes' | 'token_expires_at' | 'token_lifetime_ms'> {
  readonly provider_account_name?: string | null;
  readonly access_policy?: string;
}

export interface ConnectorStore {
  /** False when the id or the name is taken. */
  insert(connector: NewConnector, now_ms: number): Promise<boolean>;
  find(organization_id: string, id: string): Promise<ConnectorRow | undefined>;
  /** Sorted by provider and id; only those of `provider` when it is given. */
  list(organization_id: string, provider: string | undefined): Promise<readonly ConnectorRow[]>;
  /** Null takes the name away. False when there is no such connector, or another one has the name. */
  setName(organization_id: string, id: string, name: string | null, now_ms: number): Promise<boolean>;
  /** Stores the policy and the credential closed for it. False when the row is gone or its credential was closed again meanwhile. */
  setPolicy(
    row: ConnectorRow,
    change: Pick<ConnectorRow, 'access_policy' | 'closed'>,
    now_ms: number,
  ): Promise<boolean>;
  /** False as for `setPolicy`. Ends `authorization_ended_at`. */
  setCredential(row: ConnectorRow, change: CredentialChange, now_ms: number): Promise<boolean>;
  /** Changes nothing when the credential is not the one of that version any more. */
  endAuthorization(row: ConnectorRow, now_ms: number): Promise<void>;
  /** The newest connector by OAuth to this account. */
  findAccount(organization_id: string, provider: string, account_id: string): Promise<ConnectorRow | undefined>;
  /** The connectors whose credential was closed with another key than this one, sorted by id. */
  listClosedOtherwise(key_id: string, after: string, limit: number): Promise<readonly ConnectorRow[]>;
  /** The connectors whose credential an earlier version closed, bound to its row alone, and which the migration found; sorted by id. */
  listUnbound(after: string, limit: number): Promise<readonly ConnectorRow[]>;
  /** Empties the list of what the migration found. */
  forgetUnbound(): Promise<void>;
  /** The ids of all connectors whose credential has the form of an earlier version, whether the migration found them or not. */
  listOldSeals(): Promise<readonly string[]>;
  /** Replaces the closed data key. False as for `setPolicy`. */
  setDataKey(row: Pick<ConnectorRow, 'id' | 'closed'>, closed: ClosedSecret): Promise<boolean>;
  /** False when there is no such connector. */
  delete(organization_id: string, id: string): Promise<boolean>;
  /** The ids of the vault keys without which some credential cannot be opened. */
  listKeyIds(): Promise<readonly string[]>;
}

interface StoredConnector extends Omit<ConnectorRow, 'connection_type' | 'closed'>, ClosedSecret {
  readonly connection_type: string;
}

const unbound = `
SELECT * FROM connectors WHERE substr(data_key, 1, 1) = $1 AND id > $2 AND id IN (SELECT connector_id FROM unbound_seals)
ORDER BY id LIMIT $3`;

const insert = `
INSERT INTO connectors (id, organization_id, provider, provider_account_id, provider_account_name, connection_type,
                        base_api_url, access_policy, key_id, data_key, secret, scopes, token_expires_at,
                        token_lifetime_ms, user_id, inserted_at, updated_at, name)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $16, $17) ON CONFLICT DO NOTHING`;

const setCredential = `
UPDATE connectors SET key_id = $1, data_key = $2, secret = $3, scopes = $4, token_expires_at = $5,
  provider_account_name = coalesce($6, provider_account_name), access_policy = coalesce($7, access_policy),
  token_lifetime_ms = $8, authorization_ended_at = NULL, credential_version = credential_version + 1, updated_at = $9
WHERE id = $10 AND credential_version = $11 AND data_key = $12`;

const ofAccount = `
SELECT * FROM connectors WHERE organization_id = $1 AND provider = $2 AND provider_account_id = $3
  AND connection_type = 'oauth' ORDER BY inserted_at DESC, id LIMIT 1`;

const byId = 'SELECT * FROM connectors WHERE organization_id = $1 AND id = $2';

export function createConnectorStore(sql: Sql): ConnectorStore {
  return {
    async insert(row, now_ms) {
      const { id, organization_id, provider, provider_account_id, provider_account_name = null } = row;
      const { connection_type, base_api_url, access_policy, closed, scopes = null } = row;
      const { token_expires_at = null, token_lifetime_ms = null, user_id = null } = row;
      const { key_id, data_key, secret } = closed;
      const whose = [id, organization_id, provider, provider_account_id, provider_account_name, connection_type];
      const credential = [key_id, data_key, secret, scopes, token_expires_at, token_lifetime_ms, user_id];
      return (
        (await sql.run(insert, [...whose, base_api_url, access_policy, ...credential, now_ms, row.name ?? null])) > 0
      );
    },
    async find(organization_id, id) {
      return toRow(await sql.one<StoredConnector>(byId, [organization_id, id]));
    },
    async list(organization_id, provider) {
      return (await readConnectorPages<StoredConnector>(sql, organization_id, provider)).map(parseRow);
    },
    async setName(organization_id, id, name, now_ms) {
      const text = `UPDATE connectors SET name = $1, updated_at = $2 WHERE organization_id = $3 AND id = $4
                    AND NOT EXISTS (SELECT 1 FROM connectors WHERE organization_id = $3 AND name = $1 AND id <> $4)`;
      return (await sql.run(text, [name, now_ms, organization_id, id])) > 0;
    },
    async setPolicy({ id, closed }, { access_policy, closed: { key_id, data_key } }, now_ms) {
      const text =
        'UPDATE connectors SET access_policy = $1, key_id = $2, data_key = $3, updated_at = $4 WHERE id = $5 AND data_key = $6';
      return (await sql.run(text, [access_policy, key_id, data_key, now_ms, id, closed.data_key])) > 0;
    },
    async setCredential({ id, credential_version, closed: before }, change, now_ms) {
      const { closed, scopes, token_expires_at, token_lifetime_ms } = change;
      const { provider_account_name = null, access_policy = null } = change;
      const { key_id, data_key, secret } = closed;
      const values = [key_id, data_key, secret, scopes, token_expires_at, provider_account_name, access_policy];
      const which = [id, credential_version, before.data_key];
      return (await sql.run(setCredential, [...values, token_lifetime_ms, now_ms, ...which])) > 0;
    },
    async endAuthorization({ id, credential_version }, now_ms) {
      const text = 'UPDATE connectors SET authorization_ended_at = $1 WHERE id = $2 AND credential_version = $3';
      await sql.run(text, [now_ms, id, credential_version]);
    },
    async findAccount(organization_id, provider, account_id) {
      return toRow(await sql.one<StoredConnector>(ofAccount, [organization_id, provider, account_id]));
    },
    async listClosedOtherwise(key_id, after, limit) {
      const text = 'SELECT * FROM connectors WHERE key_id <> $1 AND id > $2 ORDER BY id LIMIT $3';
      return (await sql.all<StoredConnector>(text, [key_id, after, limit])).map(parseRow);
    },
    async listUnbound(after, limit) {
      return (await sql.all<StoredConnector>(unbound, [Buffer.of(UNBOUND_VERSION), after, limit])).map(parseRow);
    },
    async forgetUnbound() {
      await sql.run('DELETE FROM unbound_seals');
    },
    async listOldSeals() {
      const text = 'SELECT id FROM connectors WHERE substr(data_key, 1, 1) = $1 ORDER BY id';
      return (await sql.all<{ id: string }>(text, [Buffer.of(UNBOUND_VERSION)])).map(({ id }) => id);
    },
    async setDataKey({ id, closed }, { key_id, data_key }) {
      const text = 'UPDATE connectors SET key_id = $1, data_key = $2 WHERE id = $3 AND data_key = $4';
      return (await sql.run(text, [key_id, data_key, id, closed.data_key])) > 0;
    },
    async delete(organization_id, id) {
      return (
        (await sql.run('DELETE FROM connectors WHERE organization_id = $1 AND id = $2', [organization_id, id])) > 0
      );
    },
    async listKeyIds() {
      const rows = await sql.all<{ key_id: string }>('SELECT DISTINCT key_id FROM connectors ORDER BY key_id');
      return rows.map((row) => row.key_id);
    },
  };
}

function toRow(stored: StoredConnector | undefined): ConnectorRow | undefined {
  return stored === undefined ? undefined : parseRow(stored);
}

function parseRow({ key_id, data_key, secret, ...stored }: StoredConnector): ConnectorRow {
  return {
    ...stored,
    // A damaged type must not fail the whole list. It counts as `internal`, a type whose credential is never opened.
    connection_type: connectionType.safeParse(stored.connection_type).data ?? 'internal',
    closed: { key_id, data_key, secret },
  };
}
