// Sign-on: a browser comes from the platform, is signed on there unless it has a session, and gets to the page of its resource
// (Extensions API, Sign-on).
import { createHash } from 'node:crypto';
import type { TokenInfo } from '../../contract/sign-on.ts';
import type { Clock } from '../../core/clock.ts';
import { RemoraError } from '../../core/remora-error.ts';
import type { Secret } from '../../core/secret.ts';
import { randomToken } from '../../core/urandom.ts';
import { withoutQuery } from '../../core/without-query.ts';
import type { ProviderAnswer } from '../provider-answer.ts';
import type { ProviderPaths } from '../provider-paths.ts';
import type { ReceivedRequest } from '../received-request.ts';
import type { ResourceCalls } from '../resource-calls.ts';
import type { NonceBook } from '../store/nonce-book.ts';
import type { ResourceBook } from '../store/resource-book.ts';
import { createFlowCookies, type Flow } from './flow-cookies.ts';
import { toPage, toRedirect } from './page.ts';
import { createPlatformSignOn } from './platform-sign-on.ts';
import type { SignedOnUser, SignOnFunction } from './sign-on-function.ts';
import { createSignedCookie } from './signed-cookie.ts';

/** How long a person may take at the platform. A nonce is kept as long. */
const FLOW_KEPT_S = 600;

export interface SignOnSettings {
  /** The platform's address for browsers and for tokens. */
  readonly platformAuthUrl: string;
  readonly clientId: string;
  readonly clientSecret: () => Secret;
  /** The URL that is registered at the platform, on the host of the base URL; `<baseUrl>/oauth/callback` when absent. */
  readonly redirectUri?: string;
}

export interface SignOnDeps {
  readonly settings: SignOnSettings;
  readonly signOn: SignOnFunction;
  readonly paths: ProviderPaths;
  readonly nonces: NonceBook;
  readonly resources: ResourceBook;
  readonly calls: Pick<ResourceCalls, 'read'>;
  readonly clock: Clock;
  readonly onError: (error: unknown) => void;
}

export interface SignOn {
  /** `GET /extensions/{extension_id}/sso`. */
  begin(extension_id: string, request: ReceivedRequest): Promise<ProviderAnswer>;
  isCallbackPath(target: string): boolean;
  isCallback(request: ReceivedRequest): boolean;
  /** The browser is back from the platform. */
  end(request: ReceivedRequest): Promise<ProviderAnswer>;
}

export function createSignOn(deps: SignOnDeps): SignOn {
  const { settings, signOn, paths, nonces, resources, calls, clock, onError } = deps;
  const redirectUri = settings.redirectUri ?? `${paths.baseUrl}/oauth/callback`;
  const callback = new URL(redirectUri);
  if (callback.origin !== paths.origin) throw new TypeError('redirectUri must be on the host of baseUrl');
  const platform = createPlatformSignOn({ ...settings, redirectUri });
  const flows = createFlowCookies(
    createSignedCookie({
      secrets: () => [settings.clientSecret()],
      purpose: 'sign-on',
      path: callback.pathname,
      isSecure: paths.isSecure,
      kept_s: FLOW_KEPT_S,
      clock,
    }),
  );
  const isCallbackPath = (target: string) => withoutQuery(target) === callback.pathname;

  /** Throws `not_found`. A book that has forgotten the extension is helped out by the provider. */
  async function findPlace(id: string): Promise<{ readonly resource_id: string; readonly organization_id: string }> {
    const found = await resources.find(id);
    if (found === 'gone') throw new RemoraError('not_found', 'there is no such extension');
    if (found !== undefined) return found;
    const { organization_id } = await calls.read(id);
    if (organization_id !== undefined) return { resource_id: id, organization_id };
    throw new RemoraError('forbidden', 'nobody knows to whom this extension belongs');
  }

  async function finish(query: URLSearchParams, flow: Flow, cookie: string | undefined): Promise<ProviderAnswer> {
    const cookies = flows.end(flow.state);
    if (!(await nonces.use(`state:${flow.state}`, clock.wall_ms()))) return notBegun(cookies);
    if (query.has('error')) return toPage(403, 'Not signed on', 'The platform did not let you in.', cookies);
    const { resource_id, organization_id } = flow;
    const user = toUser(await platform.identify(query, flow), organization_id);
    if (user === undefined) {
      return toPage(403, 'Not yours', 'You are no member of the organization that this belongs to.', cookies);
    }
    const answer = await signOn({ resource_id, organization_id, cookie, user });
    if (answer === undefined) throw new Error('signOn returned nothing for a person who has signed on');
    return toRedirect(answer.location, [...cookies, ...(answer.cookies ?? [])]);
  }

  async function orPage(work: () => Promise<ProviderAnswer>): Promise<ProviderAnswer> {
    try {
      return await work();
    } catch (error) {
      const code = error instanceof RemoraError ? error.code : 'internal';
      if (code === 'not_found') return toPage(404, 'Not found', 'There is no such resource.');
      if (code === 'forbidden') return toPage(403, 'Not yours', 'Nobody can say whether this is yours.');
      if (code === 'unauthorized') return toPage(403, 'Not signed on', 'The sign-on has failed; open the page again.');
      onError(error);
      if (code.startsWith('upstream_')) return toPage(502, 'Not signed on', 'The platform cannot be asked; try again.');
      return toPage(500, 'Something went wrong', 'The log of this service has the cause.');
    }
  }

  return {
    begin: (extension_id, request) =>
      orPage(async () => {
        const { resource_id, organization_id } = await findPlace(extension_id);
        const cookie = request.header('cookie');
        const known = await signOn({ resource_id, organization_id, cookie, user: undefined });
        if (known !== undefined) return toRedirect(known.location, known.cookies);
        const [state, verifier] = [randomToken(32), randomToken(32)];
        const challenge = createHash('sha256').update(verifier).digest('base64url');
        const cookies = flows.begin(cookie, { state, verifier, resource_id, organization_id });
        return toRedirect(platform.authorizeUrl({ state, challenge, organization_id }), cookies);
      }),
    isCallbackPath,
    isCallback: ({ method, target }) => method === 'GET' && isCallbackPath(target),
    end: (request) =>
      orPage(async () => {
        const query = new URLSearchParams(request.target.split('?')[1] ?? '');
        const cookie = request.header('cookie');
        const flow = flows.find(cookie, query.get('state') ?? '');
        return flow === undefined ? notBegun() : await finish(query, flow, cookie);
      }),
  };
}

/** Undefined for who is no member of the organization. */
function toUser(info: TokenInfo, organization_id: string): SignedOnUser | undefined {
  const membership = info.organizations.find(({ id }) => id === organization_id);
  if (membership === undefined) return undefined;
  return { id: info.user_id, name: info.user_name, email: info.email, role: membership.role };
}

function notBegun(cookies: readonly string[] = []): ProviderAnswer {
  const text = 'This sign-on was begun in another browser, or too long ago. Open the page again.';
  return toPage(400, 'Not signed on', text, cookies);
}
