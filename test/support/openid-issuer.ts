// An OpenID provider of a test: metadata, keys, a token endpoint that checks what OpenID Connect has it check, and ID tokens that are
// wrong where the test says so.
import { createHash, generateKeyPairSync, randomUUID, sign } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { listen } from './kit-provider.ts';

export interface OpenIdTestIssuer {
  readonly url: string;
  readonly client: { readonly client_id: string; readonly client_secret: string };
  /** Put in place of what the next ID tokens say. */
  claims: Readonly<Record<string, unknown>>;
  /** Signs with a key that is not published. */
  isForged: boolean;
  /** What somebody does there who signs in: where the browser is sent then. */
  agree(authorize_url: string, email: string): string;
}

interface Grant {
  readonly email: string;
  readonly nonce: string;
  readonly challenge: string;
  readonly redirect_uri: string;
}

export async function openTestIssuer(): Promise<OpenIdTestIssuer> {
  const client = { client_id: 'platform', client_secret: 'issuer-secret-0123456789' };
  const [key, other] = [1, 2].map(() => generateKeyPairSync('rsa', { modulusLength: 2048 }));
  if (key === undefined || other === undefined) throw new Error('no keys');
  const grants = new Map<string, Grant>();
  const { url } = await listen((request, response) => void answer(request, response));
  const issuer: OpenIdTestIssuer = {
    url,
    client,
    claims: {},
    isForged: false,
    agree(authorize_url, email) {
      const asked = new URL(authorize_url).searchParams;
      const code = randomUUID();
      const get = (name: string) => asked.get(name) ?? '';
      const redirect_uri = get('redirect_uri');
      grants.set(code, { email, nonce: get('nonce'), challenge: get('code_challenge'), redirect_uri });
      return `${redirect_uri}?${new URLSearchParams({ code, state: get('state') })}`;
    },
  };

  function toIdToken({ email, nonce }: Grant): string {
    const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
    const iat = Math.floor(Date.now() / 1_000);
    const plain = {
      iss: url,
      sub: email,
      aud: client.client_id,
      iat,
      exp: iat + 60,
      nonce,
      email,
      email_verified: true,
    };
    const signed = `${encode({ alg: 'RS256', kid: 'k' })}.${encode({ ...plain, ...issuer.claims })}`;
    const signer = issuer.isForged ? other : key;
    return `${signed}.${sign('sha256', Buffer.from(signed), signer?.privateKey ?? '').toString('base64url')}`;
  }

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const json = (status: number, value: object) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
    switch (request.url) {
      case '/.well-known/openid-configuration':
        return void json(200, {
          issuer: url,
          authorization_endpoint: `${url}/authorize?tenant=1`,
          token_endpoint: `${url}/token`,
          jwks_uri: `${url}/keys`,
          id_token_signing_alg_values_supported: ['RS256'],
        });
      case '/keys':
        return void json(200, {
          keys: [{ ...key?.publicKey.export({ format: 'jwk' }), kid: 'k', alg: 'RS256', use: 'sig' }],
        });
      case '/token': {
        const form = new URLSearchParams(await text(request));
        const grant = grants.get(form.get('code') ?? '');
        grants.delete(form.get('code') ?? '');
        const challenge = createHash('sha256')
          .update(form.get('code_verifier') ?? '')
          .digest('base64url');
        const isKnown =
          form.get('client_id') === client.client_id && form.get('client_secret') === client.client_secret;
        const isGood = grant?.challenge === challenge && grant.redirect_uri === form.get('redirect_uri');
        if (!isKnown || grant === undefined || !isGood) return void json(400, { error: 'invalid_grant' });
        return void json(200, { access_token: 'a', token_type: 'Bearer', id_token: toIdToken(grant) });
      }
      default:
        response.writeHead(404).end();
    }
  }

  return issuer;
}
