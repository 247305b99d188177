// A provider of a test, made with the kit behind a real server, and calls to it that are signed as the platform signs them.
import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Secret } from '../../src/core/secret.ts';
import { signContent } from '../../src/core/signature.ts';
import { randomHex } from '../../src/core/urandom.ts';
import {
  createProviderHandler,
  type ProviderHandler,
  type ProviderOptions,
  toNodeListener,
} from '../../src/provider/index.ts';
import { atEnd } from './at-end.ts';

export const KIT_SECRET = new Secret('provisioning-secret');

/** Listens on a free port until the test ends. */
export async function listen(listener: RequestListener): Promise<{ readonly url: string; readonly server: Server }> {
  const server = createServer(listener);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  atEnd(() => {
    server.closeAllConnections();
    return new Promise((resolve) => server.close(resolve));
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, server };
}

export interface KitProvider {
  readonly baseUrl: string;
  readonly handler: ProviderHandler;
  readonly errors: unknown[];
  call(call: SignedCall): Promise<KitAnswer>;
}

export interface SignedCall {
  readonly method?: string;
  /** The path below the base URL. */
  readonly path: string;
  readonly body?: Readonly<Record<string, unknown>>;
  readonly query?: Readonly<Record<string, string>>;
  readonly secret?: Secret;
  readonly nonce?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface KitAnswer {
  readonly status: number;
  readonly headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: the fields of answers are what the tests compare.
  readonly json: any;
}

/** What the platform sends for an extension. */
export const provisioning = (id: string, more: object = {}) => ({
  name: `name-${id}`,
  id,
  organization_id: 'org_1',
  organization_name: 'Acme',
  user_id: 'user_1',
  user_email: 'u-1@alias.test',
  user_role: 'admin',
  ...more,
});

/** A request of the platform to `baseUrl`: what is signed, and the signature. */
export function signCall(baseUrl: string, call: SignedCall): { url: string; init: RequestInit & { headers: object } } {
  const { method = 'GET', path, secret = KIT_SECRET, nonce = randomHex(8) } = call;
  const signed = { url: baseUrl + path, nonce, timestamp: Math.floor(Date.now() / 1_000) };
  const headers = { ...call.headers };
  if (method === 'GET' || method === 'DELETE') {
    const query = new URLSearchParams({ ...call.query, ...signed, timestamp: String(signed.timestamp) }).toString();
    const init = { method, headers: { ...headers, 'x-signature': signContent(secret, query) } };
    return { url: `${baseUrl}${path}?${query}`, init };
  }
  const body = JSON.stringify({ ...call.body, ...signed });
  const json = { 'content-type': 'application/json', 'x-signature': signContent(secret, body) };
  return { url: baseUrl + path, init: { method, body, headers: { ...headers, ...json } } };
}

export async function callSigned(baseUrl: string, call: SignedCall): Promise<KitAnswer> {
  const { url, init } = signCall(baseUrl, call);
  const answer = await fetch(url, init);
  const text = await answer.text();
  return { status: answer.status, headers: answer.headers, json: text === '' ? undefined : JSON.parse(text) };
}

/** Functions that remember nothing; a test replaces those that it is about. */
export const plainFunctions = {
  provision: ({ id }: { id: string }) => ({ id: `p-${id}`, config: { KEY: `secret of ${id}` } }),
  update: () => undefined,
  read: (id: string) => ({ id, status: 'ready' }),
  remove: () => undefined,
};

export async function openKitProvider(options: Partial<ProviderOptions> = {}): Promise<KitProvider> {
  const errors: unknown[] = [];
  let handler: ProviderHandler | undefined;
  const { url } = await listen((request, response) => handler && toNodeListener(handler)(request, response));
  const baseUrl = `${url}/remora`;
  const made = createProviderHandler({
    baseUrl,
    provisioningSecrets: () => [KIT_SECRET],
    onError: (error) => errors.push(error),
    ...plainFunctions,
    ...options,
  });
  handler = made;
  return { baseUrl, handler: made, errors, call: (call) => callSigned(baseUrl, call) };
}
