// A platform with an extension provider and a user who can sign on, and a browser without scripts: it keeps cookies and sends forms.
import { Agent, fetch, type Headers, type RequestInit } from 'undici';
import type { TestPlatform, TestPlatformOptions } from './open-platform.ts';
import { openTestPlatform } from './open-platform.ts';
import { runHere } from './run-here.ts';

export interface TestClient {
  readonly name: string;
  readonly client_id: string;
  readonly client_secret: string;
}

export interface TestUser {
  readonly email: string;
  readonly user_id: string;
  readonly email_alias: string;
  readonly password: string;
}

export interface SignOnPlatform extends TestPlatform {
  readonly client: TestClient;
  readonly user: TestUser;
  /** The id of the organization `acme`. */
  readonly organization_id: string;
  readonly redirect_uri: string;
  /** Runs `remora platform …` on it and reads the JSON that it prints. */
  // biome-ignore lint/suspicious/noExplicitAny: the fields of answers are what the tests compare.
  operate(...words: string[]): Promise<any>;
  createClient(name: string, ...redirect_uris: string[]): Promise<TestClient>;
  createUser(email: string, organization?: string, role?: string): Promise<TestUser>;
}

/** A clock that stands still and that the test moves. */
export function createTestClock() {
  const clock = { now: Date.now(), mono: 1_000, wall_ms: () => clock.now, mono_ms: () => clock.mono };
  return Object.assign(clock, {
    pass(ms: number) {
      clock.now += ms;
      clock.mono += ms;
    },
  });
}

export const REDIRECT_URI = 'https://provider.example/callback';

export async function openSignOnPlatform(
  options: TestPlatformOptions = {},
  redirect_uri = REDIRECT_URI,
): Promise<SignOnPlatform> {
  const platform = await openTestPlatform(options);
  async function operate(...words: string[]) {
    const { code, out, err } = await runHere(['platform', ...words, '--json', '--dir', platform.dir]);
    if (code !== 0) throw new Error(err);
    return JSON.parse(out);
  }
  const createClient = (name: string, ...uris: string[]) =>
    operate(
      ...['extension-provider', 'create', name, '--base-url', 'https://provider.example/remora'],
      ...uris.flatMap((uri) => ['--redirect-uri', uri]),
    );
  async function createUser(email: string, organization = 'acme', role = 'admin') {
    const words = ['user', 'create', email, '--name', 'Ada <b>', '--organization', organization, '--role', role];
    return { email, ...(await operate(...words)) };
  }
  const client = await createClient('sample', redirect_uri);
  const user = await createUser('ada@example.com');
  const { users } = await operate('user', 'list');
  const { organization_id } = users[0].organizations[0];
  return { ...platform, operate, createClient, createUser, client, user, organization_id, redirect_uri };
}

export interface BrowserAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** Where a redirect leads, its query as an object. */
  readonly location: string;
  readonly query: Readonly<Record<string, string>>;
}

export class TestBrowser {
  readonly cookies = new Map<string, string>();
  readonly #origin: string;
  readonly #agent: Agent;
  #page: { readonly path: string; readonly form_token: string } | undefined;

  /** `localAddress`: from which of the loopback addresses of this computer it calls. */
  constructor(origin: string, localAddress = '127.0.0.1') {
    this.#origin = origin;
    this.#agent = new Agent({ localAddress, keepAliveTimeout: 100 });
  }

  async get(path: string): Promise<BrowserAnswer> {
    return await this.#send(path, {});
  }

  /** Sends the form of the page that was shown last, with these fields besides its hidden one. */
  async submit(fields: Readonly<Record<string, string>>, headers: Record<string, string> = {}): Promise<BrowserAnswer> {
    if (this.#page === undefined) throw new Error('the last answer had no form');
    const { path, form_token } = this.#page;
    return await this.post(path, { form_token, ...fields }, headers);
  }

  async post(path: string, fields: Readonly<Record<string, string>>, headers: Record<string, string> = {}) {
    return await this.#send(path, { method: 'POST', body: new URLSearchParams(fields), headers });
  }

  /** Follows redirects as long as they stay at the platform. */
  async follow(answer: BrowserAnswer): Promise<BrowserAnswer> {
    return answer.location.startsWith('/') ? await this.follow(await this.get(answer.location)) : answer;
  }

  /** Goes from the request of a provider to the way back, as `user`, with consent where it is asked for. */
  async signOn(path: string, user: { readonly email: string; readonly password: string }): Promise<BrowserAnswer> {
    let answer = await this.get(path);
    if (answer.text.includes('name="password"')) {
      answer = await this.follow(await this.submit({ action: 'sign_in', email: user.email, password: user.password }));
    }
    return answer.text.includes('value="allow"') ? await this.submit({ action: 'allow' }) : answer;
  }

  async #send(path: string, init: RequestInit & { readonly headers?: Record<string, string> }): Promise<BrowserAnswer> {
    const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const headers = { ...init.headers, ...(cookie === '' ? {} : { cookie }) };
    const response = await fetch(this.#origin + path, {
      ...init,
      headers,
      redirect: 'manual',
      dispatcher: this.#agent,
    });
    for (const line of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      if (value === '') this.cookies.delete(name);
      else this.cookies.set(name, value);
    }
    const text = await response.text();
    const form_token = /name="form_token" value="([^"]+)"/.exec(text)?.[1];
    if (form_token !== undefined) this.#page = { path, form_token };
    const location = response.headers.get('location') ?? '';
    const query = Object.fromEntries(new URL(location, this.#origin).searchParams);
    return { status: response.status, headers: response.headers, text, location, query };
  }
}

/** The target to which a provider sends the browser. */
export function toAuthorizePath(
  { client, redirect_uri }: Pick<SignOnPlatform, 'client' | 'redirect_uri'>,
  more: Readonly<Record<string, string>> = {},
): string {
  const query = { client_id: client.client_id, response_type: 'code', redirect_uri, scope: 'read', ...more };
  return `/oauth/authorize?${new URLSearchParams(query)}`;
}

export interface OAuthAnswer {
  readonly status: number;
  readonly headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: the fields of answers are what the tests compare.
  readonly json: any;
}

export async function postForm(
  url: string,
  fields: Readonly<Record<string, string>>,
  headers: Record<string, string> = {},
): Promise<OAuthAnswer> {
  const response = await fetch(url, { method: 'POST', body: new URLSearchParams(fields), headers });
  return { status: response.status, headers: response.headers, json: await response.json() };
}

/** Exchanges a code, or what `more` says in its place. */
export async function exchange(
  { url, client, redirect_uri }: Pick<SignOnPlatform, 'url' | 'client' | 'redirect_uri'>,
  more: Readonly<Record<string, string>>,
): Promise<OAuthAnswer> {
  const { client_id, client_secret } = client;
  const grant_type = 'authorization_code';
  return await postForm(`${url}/oauth/token`, { client_id, client_secret, grant_type, redirect_uri, ...more });
}

export async function readTokenInfo({ url }: Pick<SignOnPlatform, 'url'>, access_token: string): Promise<OAuthAnswer> {
  const headers = { authorization: `Bearer ${access_token}` };
  const response = await fetch(`${url}/oauth/token/info`, { headers });
  return { status: response.status, headers: response.headers, json: await response.json() };
}
