// The connectors of every organization. What is secret is stored closed and read only to be opened by the vault.
import { type ConnectionType, connectionType } from '../../contract/connectors.ts';
import type { Sql } from '../storage/storage.ts';
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
  insert(connector: NewConnector, now_ms: number): Promise<boolean>;
  find(organization_id: string, id: string): Promise<ConnectorRow | undefined>;
  /** By provider and id; of one provider when named. */
  list(organization_id: string, provider: string | undefined): Promise<readonly ConnectorRow[]>;
  /** False when there is no such connector. */
  setPolicy(organization_id: string, id: string, policy: string, now_ms: number): Promise<boolean>;
  /** False when the credential is not the one of that version any more. Ends `authorization_ended_at`. */
  setCredential(row: ConnectorRow, change: CredentialChange, now_ms: number): Promise<boolean>;
  /** Changes nothing when the credential is not the one of that version any more. */
  endAuthorization(row: ConnectorRow, now_ms: number): Promise<void>;
  /** The newest connector by OAuth to this account. */
  findAccount(organization_id: string, provider: string, account_id: string): Promise<ConnectorRow | undefined>;
  /** Those whose credential was closed with another key than this one, by id. */
  listClosedOtherwise(key_id: string, after: string, limit: number): Promise<readonly ConnectorRow[]>;
  /** Puts the data key closed with another key in its place. False when the credential has changed in between. */
  setDataKey(row: ConnectorRow, closed: ClosedSecret): Promise<boolean>;
  /** False when there is no such connector. */
  delete(organization_id: string, id: string): Promise<boolean>;
  /** The ids of the vault keys without which some credential cannot be opened. */
  listKeyIds(): Promise<readonly string[]>;
}

interface StoredConnector extends Omit<ConnectorRow, 'connection_type' | 'closed'>, ClosedSecret {
  readonly connection_type: string;
}

const insert = `
INSERT INTO connectors (id, organization_id, provider, provider_account_id, provider_account_name, connection_type,
                        base_api_url, access_policy, key_id, data_key, secret, scopes, token_expires_at, user_id,
                        inserted_at, updated_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $15) ON CONFLICT (id) DO NOTHING`;

const setCredential = `
UPDATE connectors SET key_id = $1, data_key = $2, secret = $3, scopes = $4, token_expires_at = $5,
  provider_account_name = coalesce($6, provider_account_name), access_policy = coalesce($7, access_policy),
  authorization_ended_at = NULL, credential_version = credential_version + 1, updated_at = $8
WHERE id = $9 AND credential_version = $10`;

const ofAccount = `
SELECT * FROM connectors WHERE organization_id = $1 AND provider = $2 AND provider_account_id = $3
  AND connection_type = 'oauth' ORDER BY inserted_at DESC, id LIMIT 1`;

const ofOrganization = 'SELECT * FROM connectors WHERE organization_id = $1';
const byId = `${ofOrganization} AND id = $2`;

export function createConnectorStore(sql: Sql): ConnectorStore {
  return {
    async insert(row, now_ms) {
      const { id, organization_id, provider, provider_account_id, provider_account_name = null } = row;
      const { connection_type, base_api_url, access_policy, closed, scopes = null } = row;
      const { token_expires_at = null, user_id = null } = row;
      const { key_id, data_key, secret } = closed;
      const whose = [id, organization_id, provider, provider_account_id, provider_account_name, connection_type];
      const credential = [key_id, data_key, secret, scopes, token_expires_at, user_id];
      return (await sql.run(insert, [...whose, base_api_url, access_policy, ...credential, now_ms])) > 0;
    },
    async find(organization_id, id) {
      return toRow(await sql.one<StoredConnector>(byId, [organization_id, id]));
    },
    async list(organization_id, provider) {
      const rows =
        provider === undefined
          ? await sql.all<StoredConnector>(`${ofOrganization} ORDER BY provider, id`, [organization_id])
          : await sql.all<StoredConnector>(`${ofOrganization} AND provider = $2 ORDER BY id`, [
              organization_id,
              provider,
            ]);
      return rows.map(parseRow);
    },
    async setPolicy(organization_id, id, value, now_ms) {
      const text = 'UPDATE connectors SET access_policy = $1, updated_at = $2 WHERE organization_id = $3 AND id = $4';
      return (await sql.run(text, [value, now_ms, organization_id, id])) > 0;
    },
    async setCredential({ id, credential_version }, change, now_ms) {
      const { closed, scopes, token_expires_at, provider_account_name = null, access_policy = null } = change;
      const { key_id, data_key, secret } = closed;
      const values = [key_id, data_key, secret, scopes, token_expires_at, provider_account_name, access_policy];
      return (await sql.run(setCredential, [...values, now_ms, id, credential_version])) > 0;
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
    async setDataKey({ id, credential_version, closed }, { key_id, data_key }) {
      const changed = await sql.run(
        'UPDATE connectors SET key_id = $1, data_key = $2 WHERE id = $3 AND credential_version = $4 AND key_id = $5',
        [key_id, data_key, id, credential_version, closed.key_id],
      );
      return changed > 0;
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
    // A damaged type must not take the list along; nothing opens the credential of an `internal` connector.
    connection_type: connectionType.safeParse(stored.connection_type).data ?? 'internal',
    closed: { key_id, data_key, secret },
  };
}
