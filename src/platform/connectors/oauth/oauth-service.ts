// Connectors by OAuth: where to send the user, and the connector once the user is back (Sandbox API, Endpoints).
import type { AccessPolicyRequest } from '../../../contract/access-policy.ts';
import type { OAuthAuthorizeRequest, OAuthAuthorizeResponse, OAuthCallbackRequest } from '../../../contract/oauth.ts';
import { parseBoundedJson } from '../../../core/bounded-json.ts';
import type { Clock } from '../../../core/clock.ts';
import { refuseField } from '../../../core/refuse-field.ts';
import { RemoraError } from '../../../core/remora-error.ts';
import { Secret } from '../../../core/secret.ts';
import { randomHex, randomToken } from '../../../core/urandom.ts';
import type { Catalogue } from '../../catalogue/catalogue.ts';
import type { CatalogueEntry, OAuthSettings } from '../../catalogue/catalogue-entry.ts';
import type { Changes } from '../../changes.ts';
import type { Storage } from '../../storage/storage.ts';
import type { ProviderFetch } from '../../upstream/provider-fetch.ts';
import type { Vault } from '../../vault/vault.ts';
import { toConnectorPlace } from '../connector-place.ts';
import type { ConnectorService } from '../connector-service.ts';
import { type ConnectorRow, type ConnectorStore, createConnectorStore } from '../connector-store.ts';
import { toStoredCredential } from '../credential.ts';
import { askProvider, type ProviderAccount, toAccount } from '../provider-account.ts';
import { toTokenTerm } from '../token-term.ts';
import { toAuthorizeUrl } from './authorize-url.ts';
import type { OAuthClient } from './oauth-client.ts';
import { joinScopes, parseScopes, toGrantedScopes } from './scopes.ts';
import { type StateStore, toStatePlace } from './state-store.ts';
import { type CodeGrant, type OAuthTokens, RefusedByProvider, type TokenEndpoint } from './token-endpoint.ts';

export interface OAuthService {
  /** Throws `invalid_request` naming the field, `too_many_requests` when too many are begun and not finished. */
  authorize(
    owner: AuthorizationOwner,
    provider: string,
    request: OAuthAuthorizeRequest,
  ): Promise<OAuthAuthorizeResponse>;
  /**
   * Throws `invalid_request`, also for what the provider refuses, `record_altered` when the account has a connector whose record was
   * changed outside the platform, and `upstream_failed` or `upstream_timeout`.
   */
  complete(owner: ConnectorOwner, provider: string, request: OAuthCallbackRequest): Promise<ConnectorRow>;
}

export interface AuthorizationOwner {
  readonly organization_id: string;
  /** The token that the call came with: the number of unfinished authorizations is limited for each token. */
  readonly token_id: string;
}

export interface ConnectorOwner {
  readonly organization_id: string;
  readonly user_id: string | null;
}

export interface OAuthServiceDeps {
  readonly storage: Pick<Storage, 'transaction'>;
  readonly states: StateStore;
  readonly connectors: ConnectorStore;
  readonly service: ConnectorService;
  /** Gets `connector_changed` when an authorization is complete. */
  readonly changes: Pick<Changes, 'publish'>;
  readonly catalogue: Catalogue;
  readonly clients: ReadonlyMap<string, OAuthClient>;
  readonly endpoint: TokenEndpoint;
  readonly fetch: ProviderFetch;
  readonly vault: Vault;
  readonly clock: Clock;
  readonly platformUrl: () => string;
}

/** How long a user may take at the provider, and how many may be there at once for one organization, and for one token of it. */
const STATE_LIFE_MS = 600_000;
const STATES_MAX = 1_000;
const STATES_OF_TOKEN_MAX = 250;
const SECRET_BYTES = 32;
const STATE_MISSING =
  'it is missing: send the state that the authorize call answered and the provider sent back. It shows that this organization began ' +
  'the authorization; without it anybody could put an account of theirs in your place';

export function createOAuthService(deps: OAuthServiceDeps): OAuthService {
  const { storage, states, connectors, vault, clock } = deps;

  function providerOf(provider: string): { entry: CatalogueEntry; settings: OAuthSettings; client: OAuthClient } {
    const entry = deps.catalogue.find(provider);
    if (entry?.oauth === undefined) throw refuseField('path.provider', 'there is no connector by OAuth for it here');
    const client = deps.clients.get(provider);
    if (client === undefined) {
      throw refuseField(
        'path.provider',
        `this platform is no OAuth client of ${entry.display_name}; its operator can change that`,
      );
    }
    return { entry, settings: entry.oauth, client };
  }

  async function toScopes(
    organization_id: string,
    provider: string,
    request: OAuthAuthorizeRequest,
    defaults: string[],
  ): Promise<string[]> {
    const base = request.scopes === undefined ? undefined : parseScopes('scopes', request.scopes);
    if (request.add_scopes === undefined) return base ?? defaults;
    const rows = await connectors.list(organization_id, provider);
    const granted = rows.flatMap((row) => row.scopes?.split(',') ?? []);
    const known = base ?? (granted.length > 0 ? granted : defaults);
    return joinScopes(known, parseScopes('add_scopes', request.add_scopes));
  }

  async function exchange(provider: string, grant: CodeGrant): Promise<OAuthTokens> {
    const { entry, settings, client } = providerOf(provider);
    try {
      return await deps.endpoint.exchange(entry, settings, client, grant);
    } catch (error) {
      if (error instanceof RefusedByProvider) throw refuseField('body.code', error.message);
      throw error;
    }
  }

  async function findAccount(provider: string, tokens: OAuthTokens): Promise<ProviderAccount> {
    const { entry, settings } = providerOf(provider);
    const { account, injection } = settings;
    if (account?.from === 'token_answer') return toAccount(account, tokens.answer);
    if (account === undefined || entry.address.type === 'own') return { id: `account_${randomHex(8)}`, name: null };
    const credential = { secret: tokens.access_token, injection };
    const answer = await askProvider(deps.fetch, entry, entry.address.url, credential, account.path);
    if (answer.status !== 200) {
      throw new RemoraError(
        'upstream_failed',
        `the provider answered ${answer.status} when it was asked whose token it is`,
      );
    }
    return toAccount(account, parseJson(answer.text));
  }

  /** The connector of the same account, with the new credential; or a new one. */
  async function save(
    owner: ConnectorOwner,
    provider: string,
    account: ProviderAccount,
    grant: { readonly tokens: OAuthTokens; readonly asked: string; readonly policy: AccessPolicyRequest | undefined },
  ): Promise<ConnectorRow> {
    const { organization_id, user_id } = owner;
    const { tokens, policy } = grant;
    const { access_token, refresh_token } = tokens;
    const secret = toStoredCredential({ type: 'oauth', access_token, refresh_token });
    const access_policy = policy === undefined ? {} : { access_policy: JSON.stringify(policy) };
    const id = await storage.transaction(async (sql) => {
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
        scopes: toGrantedScopes(tokens.scope, grant.asked) || null,
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
    deps.changes.publish({ type: 'connector_changed', connector_id: id });
    return await deps.service.find(organization_id, id);
  }

  return {
    async authorize({ organization_id, token_id }, provider, request) {
      const { settings, client } = providerOf(provider);
      const redirect_uri = request.redirect_uri ?? toCallback(deps.platformUrl(), provider);
      if (redirect_uri !== toCallback(deps.platformUrl(), provider) && !client.redirect_uris.includes(redirect_uri)) {
        throw refuseField(
          'query.redirect_uri',
          'it is not one that the operator registered; it is compared letter by letter',
        );
      }
      const scopes = await toScopes(organization_id, provider, request, settings.scopes);
      const state = request.state ?? randomToken(SECRET_BYTES);
      if (!/^[\x21-\x7e]+$/.test(state)) throw refuseField('query.state', 'it may hold visible ASCII only');
      const verifier = randomToken(SECRET_BYTES);
      const key = { organization_id, provider, state };
      const begun = { redirect_uri, scopes: scopes.join(',') };
      const closed = vault.close(toStatePlace(key, begun), new Secret(verifier));
      const now_ms = clock.wall_ms();
      const caps = { cap: STATES_MAX, tokenCap: STATES_OF_TOKEN_MAX };
      const verdict = await states.insert(
        key,
        { ...begun, closed },
        { token_id, now_ms, expires_at: now_ms + STATE_LIFE_MS, ...caps },
      );
      if (verdict === 'full' || verdict === 'full_of_token') {
        const [count, whose] =
          verdict === 'full' ? [STATES_MAX, 'of this organization'] : [STATES_OF_TOKEN_MAX, 'with this token'];
        const message = `${count} authorizations ${whose} have been begun and not finished; they expire after ten minutes`;
        throw new RemoraError('too_many_requests', message, { retryAfter_ms: STATE_LIFE_MS });
      }
      if (verdict === 'taken') {
        throw refuseField('query.state', 'it is in use; take another one for each authorization');
      }
      const { client_id } = client;
      return { authorize_url: toAuthorizeUrl(settings, { client_id, redirect_uri, scopes, state, verifier }), state };
    },
    async complete(owner, provider, request) {
      providerOf(provider);
      const { state, redirect_uri } = request;
      if (state === undefined) throw refuseField('body.state', STATE_MISSING);
      const key = { organization_id: owner.organization_id, provider, state };
      const pending = await states.consume(key, { redirect_uri, now_ms: clock.wall_ms() });
      if (pending === undefined) {
        throw refuseField('body.state', 'it is unknown, was used before, or is older than ten minutes; begin again');
      }
      if (pending === 'other_redirect_uri') {
        throw refuseField('body.redirect_uri', 'it is not the one with which the authorization began');
      }
      const verifier = vault.open(toStatePlace(key, pending), pending.closed).reveal();
      const tokens = await exchange(provider, { code: request.code, redirect_uri: pending.redirect_uri, verifier });
      const account = await findAccount(provider, tokens);
      return await save(owner, provider, account, { tokens, asked: pending.scopes, policy: request.access_policy });
    },
  };
}

/** The default of `redirect_uri` (Sandbox API, OAuthAuthorizeRequest). */
export function toCallback(platformUrl: string, provider: string): string {
  return `${platformUrl}/v1/oauth/${provider}/callback`;
}

function parseJson(text: string): unknown {
  try {
    return parseBoundedJson(text);
  } catch {
    return undefined;
  }
}
