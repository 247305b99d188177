// What the proxy serves itself on every name, below `/.remora/`: the way back from sign-on, and signing out.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { RemoraError } from '../../core/remora-error.ts';
import { Secret } from '../../core/secret.ts';
import { toMessagePage } from '../sign-on/pages.ts';
import { sendPage, sendRedirect } from '../sign-on/send-page.ts';
import { URL_CLIENT_ID } from '../sign-on/url-client.ts';
import type { UrlCodes } from '../sign-on/url-codes.ts';
import type { ProxyAddresses } from './proxy-addresses.ts';
import { CALLBACK } from './read-callback.ts';
import { toChallenge, type UrlCookies } from './url-cookies.ts';

export interface OwnPagesDeps {
  readonly addresses: Pick<ProxyAddresses, 'toOrigin'>;
  readonly cookies: UrlCookies;
  readonly codes: UrlCodes;
  /** Where sign-on is. */
  readonly platformUrl: () => string;
}

const PREFIX = '/.remora';
const LOGOUT = '/.remora/logout';
const FAILED = 'This way to sign on was begun in another browser, or too long ago, or this browser keeps no cookies.';

export class OwnPages {
  readonly #deps: OwnPagesDeps;

  constructor(deps: OwnPagesDeps) {
    this.#deps = deps;
  }

  /** Whether a path is the proxy's own. */
  isOwn(path: string): boolean {
    return path.startsWith(PREFIX) && /^\/\.remora(?:[/?]|$)/.test(path);
  }

  /** Leads a browser to sign-on, and from there back to the page that it asked for. */
  sendToSignOn(request: IncomingMessage, response: ServerResponse, name: string): void {
    const way = this.#deps.cookies.beginWay(request, name, request.url ?? '/');
    const query = new URLSearchParams({
      client_id: URL_CLIENT_ID,
      response_type: 'code',
      redirect_uri: this.#toCallback(name),
      state: way.state,
      code_challenge: toChallenge(way.verifier),
      code_challenge_method: 'S256',
    });
    sendRedirect(response, `${this.#deps.platformUrl()}/oauth/authorize?${query}`, way.cookies);
  }

  /** Throws `not_found`. */
  async serve(request: IncomingMessage, response: ServerResponse, name: string): Promise<void> {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://own');
    if (request.method === 'GET' && pathname === CALLBACK)
      return await this.#land(request, response, name, searchParams);
    if (pathname === LOGOUT && (request.method === 'GET' || request.method === 'POST')) {
      return this.#signOut(request, response);
    }
    throw new RemoraError('not_found', 'the proxy serves no such page');
  }

  async #land(request: IncomingMessage, response: ServerResponse, name: string, query: URLSearchParams): Promise<void> {
    const { cookies, codes, addresses } = this.#deps;
    const way = cookies.readWay(request, name, query.get('state') ?? '');
    const code = query.get('code');
    const signedOn =
      way === undefined || code === null
        ? undefined
        : await codes.exchange(new Secret(code), { redirect_uri: this.#toCallback(name), verifier: way.verifier });
    if (way === undefined || signedOn === undefined) {
      sendPage(response, { status: 403, html: toMessagePage('Not signed on', FAILED) });
      return;
    }
    // Every path behind the origin leads to this name, also one that begins with two slashes.
    sendRedirect(response, addresses.toOrigin(name) + way.path, [cookies.toSession(name, signedOn)]);
  }

  /** The session at sign-on ends there, and with it those at all names. */
  #signOut(request: IncomingMessage, response: ServerResponse): void {
    const site = request.headers['sec-fetch-site'];
    if (site !== undefined && site !== 'same-origin' && site !== 'none') {
      throw new RemoraError('forbidden', 'another site has sent the browser here; open the page by itself to sign out');
    }
    sendRedirect(response, `${this.#deps.platformUrl()}/oauth/sign-out`, [this.#deps.cookies.endSession()]);
  }

  #toCallback(name: string): string {
    return this.#deps.addresses.toOrigin(name) + CALLBACK;
  }
}
