// The part of sign-on that providers call: tokens, whom they belong to, their end, and the metadata.
import type { IncomingMessage } from 'node:http';
import type { signOnOperations } from '../../contract/sign-on.ts';
import type { Clock } from '../../core/clock.ts';
import { RemoraError } from '../../core/remora-error.ts';
import { Secret } from '../../core/secret.ts';
import type { Handlers } from '../../http/handler.ts';
import type { Principal } from '../tokens/principal.ts';
import { createWrongTokens, type WrongTokenRates } from '../tokens/wrong-tokens.ts';
import type { UserStore } from '../users/user-store.ts';
import type { AuthenticateClient } from './client-credentials.ts';
import type { ExchangeGrant } from './exchange-grant.ts';
import { createKnownGood } from './known-good.ts';
import { toSecretHash } from './secret-hash.ts';
import type { SignOnClient, SignOnClients } from './sign-on-client.ts';
import type { FoundToken, SignOnStore } from './sign-on-store.ts';

export interface SignOnTokenHandlerDeps {
  readonly clients: Pick<SignOnClients, 'findByClientId'>;
  readonly users: Pick<UserStore, 'find' | 'listMemberships'>;
  readonly signOns: Pick<SignOnStore, 'findByAccess' | 'findByRefresh' | 'listConsents' | 'end'>;
  readonly authenticateClient: AuthenticateClient;
  readonly exchangeGrant: ExchangeGrant;
  readonly platformUrl: () => string;
  readonly clock: Clock;
  /** The default rates when absent. */
  readonly wrongTokens?: WrongTokenRates | undefined;
}

type Operations = Pick<
  typeof signOnOperations,
  'exchangeToken' | 'readTokenInfo' | 'revokeSignOn' | 'readSignOnMetadata'
>;

const BEARER = /^bearer ([\x21-\x7e]{1,512})$/i;

export function createSignOnTokenHandlers(deps: SignOnTokenHandlerDeps): Handlers<Operations, Principal> {
  const { clients, users, signOns, authenticateClient, clock } = deps;
  const wrong = createWrongTokens(() => clock.mono_ms(), deps.wrongTokens);
  const known = createKnownGood();

  /** Throws `invalid_token`, with one message for every cause. */
  async function findBearer({ headers, socket }: IncomingMessage): Promise<FoundToken & { client: SignOnClient }> {
    const text = BEARER.exec(headers.authorization ?? '')?.[1];
    if (text === undefined) throw refuseToken();
    const hash = toSecretHash(new Secret(text));
    const trial = known.has(hash) ? undefined : wrong.begin(socket.remoteAddress);
    const found = await signOns.findByAccess(hash).catch((error: unknown) => {
      trial?.forgive();
      throw error;
    });
    if (found === undefined) {
      known.forget(hash);
      throw refuseToken();
    }
    trial?.forgive();
    known.learn(hash);
    const isOver = found.refreshed_at !== null || found.access_expires_at <= clock.wall_ms();
    const client = isOver ? undefined : await clients.findByClientId(found.sign_on.client_id);
    if (client === undefined) throw refuseToken();
    return { ...found, client };
  }

  return {
    async exchangeToken({ request, body }) {
      const tokens = await deps.exchangeGrant(await authenticateClient(request, body), body);
      known.learn(toSecretHash(new Secret(tokens.access_token)));
      return tokens;
    },
    async readTokenInfo({ request }) {
      const { sign_on, access_expires_at, created_at, client } = await findBearer(request);
      const { organization_id } = sign_on;
      const user = await users.find(sign_on.user_id);
      const consents = await signOns.listConsents(sign_on.user_id, client.name);
      const memberships = (await users.listMemberships(sign_on.user_id)).filter(
        (each) =>
          consents.has(each.organization_id) && (organization_id === null || each.organization_id === organization_id),
      );
      if (user === undefined || memberships.length === 0) {
        await signOns.end(sign_on.id);
        throw refuseToken();
      }
      return {
        resource_owner_id: user.id,
        user_id: user.id,
        user_name: user.name,
        email: user.email_alias,
        organizations: memberships.map((each) => ({ id: each.organization_id, role: each.role })),
        scope: ['read'],
        expires_in: Math.max(0, Math.floor((access_expires_at - clock.wall_ms()) / 1_000)),
        application: { uid: sign_on.client_id },
        created_at: Math.floor(created_at / 1_000),
      };
    },
    async revokeSignOn({ request, body }) {
      const { client_id } = await authenticateClient(request, body);
      if (body.token === undefined) throw refuse('invalid_request', 'token is missing');
      const hash = toSecretHash(new Secret(body.token));
      const found = (await signOns.findByAccess(hash)) ?? (await signOns.findByRefresh(hash));
      if (found === undefined) return {};
      if (found.sign_on.client_id !== client_id) throw refuse('unauthorized_client', 'the token is of another client');
      await signOns.end(found.sign_on.id);
      return {};
    },
    readSignOnMetadata() {
      const url = deps.platformUrl();
      const methods = ['client_secret_basic', 'client_secret_post'];
      return {
        issuer: url,
        authorization_endpoint: `${url}/oauth/authorize`,
        token_endpoint: `${url}/oauth/token`,
        revocation_endpoint: `${url}/oauth/revoke`,
        scopes_supported: ['read'],
        response_types_supported: ['code'],
        response_modes_supported: ['query'],
        grant_types_supported: ['authorization_code', 'refresh_token'],
        token_endpoint_auth_methods_supported: methods,
        revocation_endpoint_auth_methods_supported: methods,
        code_challenge_methods_supported: ['S256'],
        authorization_response_iss_parameter_supported: true,
      };
    },
  };
}

function refuseToken(): RemoraError {
  return refuse('invalid_token', 'the access token is unknown, expired or ended');
}

function refuse(code: 'invalid_request' | 'invalid_token' | 'unauthorized_client', message: string): RemoraError {
  return new RemoraError(code, message, { fields: { error_description: message } });
}
