// The lists of headers that the gateway drops, and the two functions that drop them: from the caller to the upstream, and from the
// upstream to the caller. Headers are flat lists (name, value, name, value) as they were sent. Names are compared folded, because
// some servers read them so.

import { foldHeaderName } from '../http/header-name.ts';
import { toNominated } from '../http/nominated-headers.ts';
import { rememberNames } from '../http/remember-names.ts';
import type { AnswerGuard } from './answer-guard.ts';
import { holdsCapability } from './capability-text.ts';
import { withoutCredentials } from './subprotocols.ts';

/** These belong to one connection (RFC 9110, section 7.6.1), or are written again for the next one. */
const connectionHeaders = [
  'connection',
  'expect',
  'host',
  'http2-settings',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
] as const;

/** These carry a credential of the caller or of its user. The gateway adds its own, and no other may reach the provider. */
const credentialHeaders = [
  'api-key',
  'apikey',
  'authentication',
  'authorization',
  'cookie',
  'cookie2',
  'dd-api-key',
  'dd-application-key',
  'deploy-token',
  'job-token',
  'ocp-apim-subscription-key',
  'openai-api-key',
  'private-token',
  'x-access-token',
  'x-amz-security-token',
  'x-api-key',
  'x-api-token',
  'x-apikey',
  'x-auth-email',
  'x-auth-key',
  'x-auth-token',
  'x-authorization',
  'x-functions-key',
  'x-gitlab-token',
  'x-goog-api-key',
  'x-goog-iam-authorization-token',
  'x-rapidapi-key',
  'x-sentry-auth',
  'x-shopify-access-token',
  'x-vault-token',
] as const;

/** These say where a request came from, or name another path or method than the one that was judged. */
const forwardingHeaders = [
  'base-url',
  'cf-connecting-ip',
  'client-ip',
  'fastly-client-ip',
  'forwarded',
  'http-url',
  'real-ip',
  'request-uri',
  'true-client-ip',
  'uri',
  'url',
  'via',
  'x-authenticated-user',
  'x-azure-clientip',
  'x-base-url',
  'x-client-ip',
  'x-cluster-client-ip',
  'x-forward-for',
  'x-forwarded',
  'x-host',
  'x-http-destinationurl',
  'x-http-host-override',
  'x-http-method',
  'x-http-method-override',
  'x-http-path-override',
  'x-invoke-path',
  'x-matched-path',
  'x-method-override',
  'x-override-url',
  'x-path-info',
  'x-proxy-url',
  'x-proxyuser-ip',
  'x-real-ip',
  'x-request-uri',
  'x-script-name',
  'x-sendfile-type',
  'x-uri',
  'x-url',
  'x-webauth-user',
] as const;

const droppedFromRequest: ReadonlySet<string> = new Set([
  ...connectionHeaders,
  ...credentialHeaders,
  ...forwardingHeaders,
]);
/**
 * Prefixes of the headers that proxies and frameworks send to the servers behind them: the caller, its address, and another
 * route.
 */
const droppedFamilies = [
  'proxy-',
  'fly-',
  'remora-',
  'remote-',
  'x-accel-',
  'x-auth-request-',
  'x-envoy-',
  'x-forwarded-',
  'x-middleware-',
  'x-original-',
  'x-remote-',
  'x-rewrite-',
] as const;

const droppedFromResponse: ReadonlySet<string> = new Set([...connectionHeaders, 'set-cookie', 'set-cookie2']);

/** This header passes without those elements of its list that are credentials. */
const SUBPROTOCOLS = 'sec-websocket-protocol';

/** What the lists say of a header in a request, whatever else comes with it. */
const ofRequest = rememberNames((name) => {
  const key = foldHeaderName(name);
  const isListed = droppedFromRequest.has(key) || droppedFamilies.some((prefix) => key.startsWith(prefix));
  const isMisspelt = key === 'content-length' && name.toLowerCase() !== key;
  return { key, isDropped: isListed || isMisspelt || holdsCapability(name) };
});

/** The same in an answer. */
const ofResponse = rememberNames((name) => {
  const key = foldHeaderName(name);
  return { key, isDropped: droppedFromResponse.has(key) || key.startsWith('proxy-'), isOwn: key.startsWith('remora-') };
});

/** The names of flat headers, as `toUpstreamHeaders` compares them. */
export function toFoldedNames(headers: readonly string[]): ReadonlySet<string> {
  return new Set(headers.filter((_, index) => index % 2 === 0).map(foldHeaderName));
}

/**
 * The caller's headers that go upstream, then `injected`, which no header of the caller can remove, repeat or precede. Both are
 * flat; `injected` is trusted, and `taken` are its names. `content-length` passes in its exact spelling only.
 */
export function toUpstreamHeaders(
  caller: readonly string[],
  injected: readonly string[] = [],
  taken = toFoldedNames(injected),
): string[] {
  const nominated = toNominated(caller);
  const kept: string[] = [];
  const subprotocols: string[] = [];
  for (let index = 0; index + 1 < caller.length; index += 2) {
    const name = caller[index] ?? '';
    const { key, isDropped } = ofRequest(name);
    if (isDropped || nominated.has(key) || taken.has(key)) continue;
    const value = caller[index + 1] ?? '';
    if (key === SUBPROTOCOLS) subprotocols.push(value);
    else if (!holdsCapability(value)) kept.push(name, value);
  }
  const harmless = subprotocols.length === 0 ? '' : withoutCredentials(subprotocols);
  if (harmless !== '') kept.push('Sec-WebSocket-Protocol', harmless);
  kept.push(...injected);
  return kept;
}

/**
 * The headers of an answer that go to the caller; trailers pass the same rules. From a `provider` the marker of Remora's own
 * errors is dropped as well, because only the platform may set it. `guard` has the last word.
 */
export function toCallerHeaders(
  upstream: readonly string[],
  from: 'provider' | 'platform',
  guard?: AnswerGuard,
): string[] {
  const nominated = toNominated(upstream);
  const kept: string[] = [];
  for (let index = 0; index + 1 < upstream.length; index += 2) {
    const name = upstream[index] ?? '';
    const { key, isDropped, isOwn } = ofResponse(name);
    if (isDropped || nominated.has(key) || (isOwn && from === 'provider')) continue;
    kept.push(name, upstream[index + 1] ?? '');
  }
  return guard === undefined ? kept : guard.headers(kept);
}
