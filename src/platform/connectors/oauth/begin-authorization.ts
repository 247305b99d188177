// The first step of an authorization: remembers its state, and makes the address at the provider where the user agrees.
import type { OAuthAuthorizeRequest, OAuthAuthorizeResponse } from '../../../contract/oauth.ts';
import type { Clock } from '../../../core/clock.ts';
import { refuseField } from '../../../core/refuse-field.ts';
import { RemoraError } from '../../../core/remora-error.ts';
import { Secret } from '../../../core/secret.ts';
import { randomToken } from '../../../core/urandom.ts';
import type { Vault } from '../../vault/vault.ts';
import type { ConnectorStore } from '../records/connector-store.ts';
import { toAuthorizeUrl } from './authorize-url.ts';
import { findOAuthProvider, type OAuthProvidersDeps } from './oauth-provider.ts';
import { joinScopes, parseScopes } from './scopes.ts';
import { type StateStore, type StateVerdict, toStatePlace } from './state-store.ts';

export interface BeginAuthorizationDeps extends OAuthProvidersDeps {
  readonly states: Pick<StateStore, 'insert'>;
  readonly connectors: Pick<ConnectorStore, 'list'>;
  readonly vault: Pick<Vault, 'close'>;
  readonly clock: Clock;
  readonly platformUrl: () => string;
}

export interface AuthorizationOwner {
  readonly organization_id: string;
  /** The token that the call came with: the number of unfinished authorizations is limited for each token. */
  readonly token_id: string;
}

/** How long a user may take at the provider, and how many may be there at once for one organization, and for one token of it. */
const STATE_TERM_MS = 600_000;
const STATES_MAX = 1_000;
const STATES_OF_TOKEN_MAX = 250;
const SECRET_BYTES = 32;

/** See `OAuthService.authorize`. */
export async function beginAuthorization(
  deps: BeginAuthorizationDeps,
  { organization_id, token_id }: AuthorizationOwner,
  provider: string,
  request: OAuthAuthorizeRequest,
): Promise<OAuthAuthorizeResponse> {
  const { settings, client } = findOAuthProvider(deps, provider);
  const redirect_uri = request.redirect_uri ?? toCallback(deps.platformUrl(), provider);
  if (redirect_uri !== toCallback(deps.platformUrl(), provider) && !client.redirect_uris.includes(redirect_uri)) {
    throw refuseField(
      'query.redirect_uri',
      'it is not one that the operator registered; it is compared letter by letter',
    );
  }
  const scopes = await toScopes(deps.connectors, { organization_id, provider, defaults: settings.scopes }, request);
  const state = request.state ?? randomToken(SECRET_BYTES);
  if (!/^[\x21-\x7e]+$/.test(state)) throw refuseField('query.state', 'it may hold visible ASCII only');
  const verifier = randomToken(SECRET_BYTES);
  const key = { organization_id, provider, state };
  const begun = { redirect_uri, scopes: scopes.join(',') };
  const closed = deps.vault.close(toStatePlace(key, begun), new Secret(verifier));
  const now_ms = deps.clock.wall_ms();
  const caps = { cap: STATES_MAX, tokenCap: STATES_OF_TOKEN_MAX };
  const term = { token_id, now_ms, expires_at: now_ms + STATE_TERM_MS, ...caps };
  checkStored(await deps.states.insert(key, { ...begun, closed }, term));
  const { client_id } = client;
  return { authorize_url: toAuthorizeUrl(settings, { client_id, redirect_uri, scopes, state, verifier }), state };
}

/** Throws what refuses a state that was not stored. */
function checkStored(verdict: StateVerdict): void {
  if (verdict === 'full' || verdict === 'full_of_token') {
    const [count, whose] =
      verdict === 'full' ? [STATES_MAX, 'of this organization'] : [STATES_OF_TOKEN_MAX, 'with this token'];
    const message = `${count} authorizations ${whose} have been begun and not finished; they expire after ten minutes`;
    throw new RemoraError('too_many_requests', message, { retryAfter_ms: STATE_TERM_MS });
  }
  if (verdict === 'taken') {
    throw refuseField('query.state', 'it is in use; take another one for each authorization');
  }
}

interface AskedAt {
  readonly organization_id: string;
  readonly provider: string;
  /** The scopes that are asked for when nobody names any. */
  readonly defaults: readonly string[];
}

async function toScopes(
  connectors: Pick<ConnectorStore, 'list'>,
  { organization_id, provider, defaults }: AskedAt,
  request: OAuthAuthorizeRequest,
): Promise<readonly string[]> {
  const base = request.scopes === undefined ? undefined : parseScopes('scopes', request.scopes);
  if (request.add_scopes === undefined) return base ?? defaults;
  const rows = await connectors.list(organization_id, provider);
  const granted = rows.flatMap((row) => row.scopes?.split(',') ?? []);
  const known = base ?? (granted.length > 0 ? granted : defaults);
  return joinScopes(known, parseScopes('add_scopes', request.add_scopes));
}

/** The default of `redirect_uri` (Sandbox API, OAuthAuthorizeRequest). */
function toCallback(platformUrl: string, provider: string): string {
  return `${platformUrl}/v1/oauth/${provider}/callback`;
}
