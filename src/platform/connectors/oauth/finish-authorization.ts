// The last step of an authorization: the user is back with a code, which is exchanged for tokens, and the account is asked for.
import type { OAuthCallbackRequest } from '../../../contract/oauth.ts';
import { readBoundedJson } from '../../../core/bounded-json.ts';
import { refuseField } from '../../../core/refuse-field.ts';
import { RemoraError } from '../../../core/remora-error.ts';
import { randomHex } from '../../../core/urandom.ts';
import { askProvider, type ProviderAccount, toAccount } from '../../upstream/provider-account.ts';
import type { ProviderFetch } from '../../upstream/provider-fetch.ts';
import type { ConnectorOwner } from '../records/connector-owner.ts';
import { findOAuthProvider, type OAuthProvider, type OAuthProvidersDeps } from './oauth-provider.ts';
import { type SaveConnectorDeps, saveConnector } from './save-connector.ts';
import { type StateStore, toStatePlace } from './state-store.ts';
import { type CodeGrant, type OAuthTokens, RefusedByProvider, type TokenEndpoint } from './token-endpoint.ts';

export interface FinishAuthorizationDeps extends OAuthProvidersDeps, SaveConnectorDeps {
  readonly states: Pick<StateStore, 'consume'>;
  readonly endpoint: TokenEndpoint;
  readonly fetch: ProviderFetch;
}

const STATE_MISSING =
  'it is missing: send the state that the authorize call answered and the provider sent back. It shows that this organization began ' +
  'the authorization; without it anybody could put an account of theirs in your place';

/** Resolves with the id of the connector. See `OAuthService.complete`. */
export async function finishAuthorization(
  deps: FinishAuthorizationDeps,
  owner: ConnectorOwner,
  provider: string,
  request: OAuthCallbackRequest,
): Promise<string> {
  const at = findOAuthProvider(deps, provider);
  const { state, redirect_uri } = request;
  if (state === undefined) throw refuseField('body.state', STATE_MISSING);
  const key = { organization_id: owner.organization_id, provider, state };
  const pending = await deps.states.consume(key, { redirect_uri, now_ms: deps.clock.wall_ms() });
  if (pending === undefined) {
    throw refuseField('body.state', 'it is unknown, was used before, or is older than ten minutes; begin again');
  }
  if (pending === 'other_redirect_uri') {
    throw refuseField('body.redirect_uri', 'it is not the one with which the authorization began');
  }
  const verifier = deps.vault.open(toStatePlace(key, pending), pending.closed).reveal();
  const code = { code: request.code, redirect_uri: pending.redirect_uri, verifier };
  const tokens = await exchange(deps.endpoint, at, code);
  const account = await findAccount(deps.fetch, at, tokens);
  const granted = { provider, account, tokens, asked: pending.scopes, policy: request.access_policy };
  return await saveConnector(deps, owner, granted);
}

async function exchange(
  endpoint: TokenEndpoint,
  { entry, settings, client }: OAuthProvider,
  grant: CodeGrant,
): Promise<OAuthTokens> {
  try {
    return await endpoint.exchange(entry, settings, client, grant);
  } catch (error) {
    if (error instanceof RefusedByProvider) throw refuseField('body.code', error.message);
    throw error;
  }
}

async function findAccount(
  fetch: ProviderFetch,
  { entry, settings }: OAuthProvider,
  tokens: OAuthTokens,
): Promise<ProviderAccount> {
  const { account, injection } = settings;
  if (account?.from === 'token_answer') return toAccount(account, tokens.answer);
  if (account === undefined || entry.address.type === 'own') return { id: `account_${randomHex(8)}`, name: null };
  const credential = { secret: tokens.access_token, injection };
  const answer = await askProvider(fetch, entry, entry.address.url, credential, account.path);
  if (answer.status !== 200) {
    throw new RemoraError(
      'upstream_failed',
      `the provider answered ${answer.status} when it was asked whose token it is`,
    );
  }
  return toAccount(account, readBoundedJson(answer.text));
}
