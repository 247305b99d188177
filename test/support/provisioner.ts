// A provider of extensions of a test that keeps resources: a real server, whose answers the test may spoil, delay and cut.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import type { Secret } from '../../src/core/secret.ts';
import { matchesSignature, signContent } from '../../src/core/signature.ts';
import { atEnd } from './at-end.ts';
import { openTestPlatform, type TestPlatformOptions } from './open-platform.ts';

export interface Asked {
  readonly method: string;
  readonly path: string;
  /** The raw query. */
  readonly query: string;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: what the tests compare.
  readonly json: any;
  readonly signature: string;
}

export type Spoil = (asked: Asked, response: ServerResponse, request: IncomingMessage) => boolean | Promise<boolean>;

export async function startProvisioner() {
  const asked: Asked[] = [];
  const resources = new Map<string, { status: string; plan: string }>();
  const secrets: Secret[] = [];
  let forged = 0;
  let spoil: Spoil = () => false;

  const server = createServer(async (request, response) => {
    // A platform that ends breaks its requests off.
    const body = await buffer(request).catch(() => undefined);
    if (body === undefined) return;
    const text = body.toString();
    const { method = '', url = '', headers } = request;
    const [path = '', query = ''] = url.split('?');
    const signature = String(headers['x-signature']);
    const signed = method === 'GET' || method === 'DELETE' ? query : text;
    if (!secrets.some((secret) => matchesSignature(secret, signed, signature))) {
      forged += 1;
      response.writeHead(401).end();
      return;
    }
    // It sends no bills, and these are asked for whenever the platform likes.
    if (path.endsWith('/billing')) {
      response.writeHead(404).end();
      return;
    }
    const one = { method, path, query, text, json: text === '' ? undefined : JSON.parse(text), signature };
    asked.push(one);
    if (await spoil(one, response, request)) return;
    answer(one, response);
  });

  function answer({ method, path, json }: Asked, response: ServerResponse): void {
    const send = (status: number, body?: unknown) => {
      response.writeHead(status, { 'content-type': 'application/json' });
      response.end(body === undefined ? undefined : JSON.stringify(body));
    };
    const id = method === 'POST' ? `r-${json.id}` : decodeURIComponent(path.split('/').at(-1) ?? '');
    if (method === 'POST' && !resources.has(id)) resources.set(id, { status: 'ready', plan: 'small' });
    const found = resources.get(id);
    if (method === 'POST') send(200, { id, config: { KV_URL: `https://kv.example/${id}`, KV_KEY: `canary-${id}` } });
    else if (found === undefined) send(404, { error: 'not_found' });
    else if (method === 'DELETE') {
      resources.delete(id);
      send(204);
    } else send(200, method === 'PATCH' ? {} : { id, ...found, region: 'fra' });
  }

  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  atEnd(() => {
    server.closeAllConnections();
    server.close();
  });
  return {
    base_url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/platform`,
    asked,
    resources,
    secrets,
    answer,
    forged: () => forged,
    of: (method: string) => asked.filter((one) => one.method === method),
    spoil(next: Spoil) {
      spoil = next;
    },
    server,
  };
}

export type Provisioner = Awaited<ReturnType<typeof startProvisioner>>;

/** Short waits between tries, so that a test does not wait; what a busy machine delays is in time all the same. */
export const QUICK = {
  answerWithin_ms: 60_000,
  provision_ms: 30_000,
  call_ms: 30_000,
  firstWait_ms: 40,
  lastWait_ms: 80,
  lastDeleteWait_ms: 80,
  down_ms: 700,
};

/** Serves the tests of what is too late. */
export const IMPATIENT = { ...QUICK, answerWithin_ms: 400, provision_ms: 300 };

/** A platform with the provider `kv`, an app `web`, and a user whose token makes the calls. */
export async function openExtensions(options: TestPlatformOptions = {}) {
  const provider = await startProvisioner();
  const platform = await openTestPlatform({ extensionTimes: QUICK, ...options });
  const organization = 'acme';
  const { user } = await platform.admin.createUser({
    email: 'ada@example.com',
    name: 'Ada',
    organization,
    role: 'admin',
  });
  const token = await platform.admin.createToken({ organization, user_id: user.id });
  await platform.call({ method: 'POST', path: '/v1/apps', body: { name: 'web' } });
  const registered = await platform.admin.registerExtensionProvider({ name: 'kv', base_url: provider.base_url });
  provider.secrets.push(registered.secrets.provisioning);
  const call = (method: string, path: string, body?: unknown) => platform.call({ method, path, body, token });
  const create = (name: string, more: object = {}) => call('POST', '/v1/extensions', { provider: 'kv', name, ...more });
  const read = async (name: string) => (await call('GET', `/v1/extensions/${name}`)).json;
  const variables = async (app = 'web') =>
    (await call('GET', `/v1/apps/${app}/secrets`)).json.secrets.map(({ name }: { name: string }) => name);
  /** Sends what a provider does; `spoilt` is sent in place of the right signature. */
  async function tell(action: string, resource: object, timestamp = Math.floor(Date.now() / 1_000), spoilt?: string) {
    const body = JSON.stringify({ timestamp: String(timestamp), action, resource });
    const signature = spoilt ?? signContent(registered.secrets.webhook, body);
    const headers = { 'content-type': 'application/json', 'x-signature': signature };
    const answer = await fetch(`${platform.url}/api/hooks/extensions/kv`, { method: 'POST', headers, body });
    return { status: answer.status, text: await answer.text() };
  }
  return { provider, platform, registered, user, token, call, create, read, variables, tell };
}
