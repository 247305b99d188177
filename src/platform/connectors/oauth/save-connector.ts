// Stores what a user has authorized: the connector of the same account with the new credential, or a new one.
import type { AccessPolicyRequest } from '../../../contract/access-policy.ts';
import type { Clock } from '../../../core/clock.ts';
import { RemoraError } from '../../../core/remora-error.ts';
import { randomHex } from '../../../core/urandom.ts';
import type { Storage } from '../../storage/storage.ts';
import type { ProviderAccount } from '../../upstream/provider-account.ts';
import type { Vault } from '../../vault/vault.ts';
import type { ConnectorOwner } from '../records/connector-owner.ts';
import { toConnectorPlace } from '../records/connector-place.ts';
import { createConnectorStore } from '../records/connector-store.ts';
import { toStoredCredential } from '../records/credential.ts';
import { toTokenTerm } from '../records/token-term.ts';
import { toGrantedScopes } from './scopes.ts';
import type { OAuthTokens } from './token-endpoint.ts';

export interface SaveConnectorDeps {
  readonly storage: Pick<Storage, 'transaction'>;
  readonly vault: Vault;
  readonly clock: Clock;
}

export interface GrantedAccount {
  readonly provider: string;
  readonly account: ProviderAccount;
  readonly tokens: OAuthTokens;
  /** The scopes that were asked for, separated by commas. */
  readonly asked: string;
  /** Undefined: the policy stays as it is. */
  readonly policy: AccessPolicyRequest | undefined;
}

/**
 * Resolves with the id of the connector. Throws `record_altered` when the record of the account was changed outside the platform, and
 * `conflict` when another call changed it meanwhile.
 */
export async function saveConnector(
  { storage, vault, clock }: SaveConnectorDeps,
  { organization_id, user_id }: ConnectorOwner,
  { provider, account, tokens, asked, policy }: GrantedAccount,
): Promise<string> {
  const { access_token, refresh_token } = tokens;
  const secret = toStoredCredential({ type: 'oauth', access_token, refresh_token });
  const access_policy = policy === undefined ? {} : { access_policy: JSON.stringify(policy) };
  return await storage.transaction(async (sql) => {
    const inside = createConnectorStore(sql);
    const now_ms = clock.wall_ms();
    const known = await inside.findAccount(organization_id, provider, account.id);
    const id = known?.id ?? `conn_${randomHex(10)}`;
    // Throws for an altered record: a new seal would make its alterations count.
    if (known !== undefined) vault.open(toConnectorPlace(known), known.closed);
    const connection_type = 'oauth';
    const fresh = {
      id,
      organization_id,
      provider,
      connection_type,
      base_api_url: null,
      access_policy: null,
    } as const;
    const placed = { ...(known ?? fresh), ...access_policy };
    const credential = {
      closed: vault.close(toConnectorPlace(placed), secret),
      scopes: toGrantedScopes(tokens.scope, asked) || null,
      ...toTokenTerm(tokens.expires_in_s, now_ms),
      provider_account_name: account.name,
    };
    if (known !== undefined) {
      if (await inside.setCredential(known, { ...credential, ...access_policy }, now_ms)) return id;
    } else {
      const row = { ...fresh, provider_account_id: account.id, user_id, ...credential, ...access_policy };
      if (await inside.insert(row, now_ms)) return id;
    }
    throw new RemoraError('conflict', 'the connector was changed by another call; authorize it again');
  }, `account ${account.id} at ${provider} of ${organization_id}`);
}
