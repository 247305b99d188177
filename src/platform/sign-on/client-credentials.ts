// Which client calls an endpoint of OAuth, and its secret: by Basic authentication or by fields of the form (RFC 6749, Client Password).
import type { IncomingMessage } from 'node:http';
import type { Clock } from '../../core/clock.ts';
import { RemoraError } from '../../core/remora-error.ts';
import { Secret } from '../../core/secret.ts';
import { createWrongTokens, type WrongTokenRates } from '../tokens/wrong-tokens.ts';
import { createKnownGood } from './known-good.ts';
import { toSecretHash } from './secret-hash.ts';
import type { SignOnClient, SignOnClients } from './sign-on-client.ts';

interface GivenClient {
  readonly client_id?: string | undefined;
  readonly client_secret?: string | undefined;
}

/** Throws `invalid_client`, `invalid_request` for two credentials that differ, and `too_many_requests`. */
export type AuthenticateClient = (request: IncomingMessage, form: GivenClient) => Promise<SignOnClient>;

const BASIC = /^basic ([A-Za-z0-9+/_-]{1,8192}={0,2})$/i;

export function createAuthenticateClient(
  clients: SignOnClients,
  clock: Clock,
  rates?: WrongTokenRates,
): AuthenticateClient {
  const wrong = createWrongTokens(() => clock.mono_ms(), rates);
  const known = createKnownGood();
  return async (request, form) => {
    const { client_id, client_secret } = readCredentials(request.headers.authorization, form);
    const hash = `${client_id} ${toSecretHash(client_secret)}`;
    const trial = known.has(hash) ? undefined : wrong.begin(request.socket.remoteAddress);
    try {
      const client = await clients.findByClientId(client_id);
      if (client !== undefined && (await clients.checkClientSecret(client, client_secret))) {
        trial?.forgive();
        known.learn(hash);
        return client;
      }
    } catch (error) {
      trial?.forgive();
      throw error;
    }
    known.forget(hash);
    throw refuseClient('the client or its secret is wrong');
  };
}

function readCredentials(authorization: string | undefined, form: GivenClient) {
  const { client_id, client_secret } = form;
  if (authorization === undefined) {
    if (!client_id || !client_secret) throw refuseClient('client_id and client_secret are needed');
    return { client_id, client_secret: new Secret(client_secret) };
  }
  const basic = parseBasic(authorization);
  if (basic === undefined) throw refuseClient('the Authorization header holds no client');
  const differs = client_id !== undefined && client_id !== basic.client_id;
  if (differs || client_secret !== undefined) {
    const message = 'the client is named by the Authorization header and by the form; use one of them';
    throw new RemoraError('invalid_request', message, { fields: { error_description: message } });
  }
  return basic;
}

/** Both parts are form-encoded before they are joined. */
function parseBasic(authorization: string) {
  const encoded = BASIC.exec(authorization)?.[1];
  if (encoded === undefined) return undefined;
  const text = Buffer.from(encoded, 'base64').toString('utf8');
  const colon = text.indexOf(':');
  if (colon < 1) return undefined;
  try {
    const decode = (part: string) => decodeURIComponent(part.replaceAll('+', ' '));
    return { client_id: decode(text.slice(0, colon)), client_secret: new Secret(decode(text.slice(colon + 1))) };
  } catch {
    return undefined;
  }
}

function refuseClient(message: string): RemoraError {
  return new RemoraError('invalid_client', message, { fields: { error_description: message } });
}
