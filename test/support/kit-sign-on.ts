// The platform's side of a sign-on, of a test of providers: it checks what RFC 6749 and RFC 7636 have a server check, answers in the
// shapes of the Extensions API, and does wrong what the test asks for.
import { createHash, randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { listen } from './kit-provider.ts';

export const CLIENT = { id: 'client-1', secret: 'client-secret-0123456789' } as const;

export interface SignOnPlatform {
  readonly url: string;
  /** What the next introspection differs in; a text is answered instead of JSON. */
  faults: { info?: object | string; tokenStatus?: number; redirect?: string };
  /** What a person does who agrees: where the browser is sent then. */
  agree(authorize_url: string): string;
  readonly tokenCalls: readonly Readonly<Record<string, string>>[];
}

export async function openSignOnPlatform(): Promise<SignOnPlatform> {
  const codes = new Map<string, URLSearchParams>();
  const tokens = new Set<string>();
  const tokenCalls: Record<string, string>[] = [];

  async function exchange(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const form = new URLSearchParams(Buffer.concat(await request.toArray()).toString());
    tokenCalls.push(Object.fromEntries(form));
    const asked = codes.get(form.get('code') ?? '');
    codes.delete(form.get('code') ?? '');
    const challenge = createHash('sha256')
      .update(form.get('code_verifier') ?? '')
      .digest('base64url');
    const isGood =
      asked?.get('code_challenge') === challenge &&
      asked.get('redirect_uri') === form.get('redirect_uri') &&
      form.get('client_id') === CLIENT.id &&
      form.get('client_secret') === CLIENT.secret;
    const { redirect: location } = platform.faults;
    if (location !== undefined) return void response.writeHead(307, { location }).end();
    if (platform.faults.tokenStatus !== undefined) return send(response, platform.faults.tokenStatus, {});
    if (!isGood) return send(response, 400, { error: 'invalid_grant' });
    const access_token = randomUUID();
    tokens.add(access_token);
    send(response, 200, {
      access_token,
      token_type: 'Bearer',
      expires_in: 7_200,
      refresh_token: randomUUID(),
      scope: 'read',
      created_at: Math.floor(Date.now() / 1_000),
    });
  }

  function introspect(request: IncomingMessage, response: ServerResponse): void {
    const token = request.headers.authorization?.replace('Bearer ', '') ?? '';
    const { info } = platform.faults;
    if (typeof info === 'string') response.writeHead(200, { 'content-type': 'application/json' }).end(info);
    else if (!tokens.has(token)) send(response, 401, { error: 'invalid_token' });
    else {
      send(response, 200, {
        resource_owner_id: 'user_1',
        user_id: 'user_1',
        user_name: 'Ada <b>',
        email: 'u-1@alias.test',
        organizations: [{ id: 'org_1', role: 'member' }],
        scope: ['read'],
        expires_in: 7_000,
        application: { uid: CLIENT.id },
        created_at: Math.floor(Date.now() / 1_000),
        ...info,
      });
    }
  }

  const { url } = await listen((request, response) => {
    if (request.url === '/oauth/token') void exchange(request, response);
    else if (request.url === '/oauth/token/info') introspect(request, response);
    else send(response, 404, {});
  });
  const platform: SignOnPlatform = {
    url,
    faults: {},
    tokenCalls,
    agree(authorize_url) {
      const { searchParams: asked } = new URL(authorize_url);
      const code = randomUUID();
      codes.set(code, asked);
      return `${asked.get('redirect_uri')}?${new URLSearchParams({ code, state: asked.get('state') ?? '' })}`;
    },
  };
  return platform;
}

function send(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}
