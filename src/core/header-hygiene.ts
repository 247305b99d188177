// Which headers cross the gateway, in both directions, on flat lists (name, value, name, value) as they were sent (design.md,
// section 5, "Headers"). A name is looked up with `_` read as `-`, because some servers read it so.
import { withoutCredentials } from './subprotocols.ts';

/** Belong to one connection (RFC 9110, section 7.6.1), or are written anew for the next one. */
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

/** A credential of the caller or of its user: the gateway brings its own, and no other may reach the provider. */
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

/** Say where a request came from, or name another path or method than the one that was judged. */
const forwardingHeaders = [
  'cf-connecting-ip',
  'client-ip',
  'fastly-client-ip',
  'forwarded',
  'request-uri',
  'true-client-ip',
  'via',
  'x-azure-clientip',
  'x-client-ip',
  'x-cluster-client-ip',
  'x-forward-for',
  'x-forwarded',
  'x-host',
  'x-http-host-override',
  'x-http-method',
  'x-http-method-override',
  'x-http-path-override',
  'x-invoke-path',
  'x-matched-path',
  'x-method-override',
  'x-override-url',
  'x-path-info',
  'x-proxyuser-ip',
  'x-real-ip',
  'x-request-uri',
  'x-script-name',
] as const;

const droppedFromRequest: ReadonlySet<string> = new Set([
  ...connectionHeaders,
  ...credentialHeaders,
  ...forwardingHeaders,
]);
const droppedFamilies = ['proxy-', 'fly-', 'remora-', 'x-envoy-', 'x-forwarded-', 'x-original-', 'x-rewrite-'] as const;

const droppedFromResponse: ReadonlySet<string> = new Set([...connectionHeaders, 'set-cookie', 'set-cookie2']);

/** The marker of our own errors, so that they are not mistaken for the provider's. Its value is the error code. */
export const ERROR_MARKER = 'remora-error';

/** Passes, but for the elements of its list that are credentials. */
const SUBPROTOCOLS = 'sec-websocket-protocol';

const nothing: ReadonlySet<string> = new Set();

/**
 * The caller's headers that go upstream, then `injected`, which nothing of the caller's can remove, repeat or precede.
 * Both flat; `injected` is trusted. `content-length` passes in its exact spelling only.
 */
export function toUpstreamHeaders(caller: readonly string[], injected: readonly string[] = []): string[] {
  const nominated = toNominated(caller);
  const taken = new Set<string>();
  for (let index = 0; index < injected.length; index += 2) taken.add(toKey(injected[index] ?? ''));
  const kept: string[] = [];
  let subprotocols: string[] | undefined;
  for (let index = 0; index + 1 < caller.length; index += 2) {
    const name = caller[index] ?? '';
    const key = toKey(name);
    if (droppedFromRequest.has(key) || nominated.has(key) || taken.has(key)) continue;
    if (droppedFamilies.some((prefix) => key.startsWith(prefix))) continue;
    if (key === 'content-length' && name.includes('_')) continue;
    if (key === SUBPROTOCOLS) subprotocols = [...(subprotocols ?? []), caller[index + 1] ?? ''];
    else kept.push(name, caller[index + 1] ?? '');
  }
  const harmless = subprotocols === undefined ? '' : withoutCredentials(subprotocols);
  if (harmless !== '') kept.push('Sec-WebSocket-Protocol', harmless);
  kept.push(...injected);
  return kept;
}

/**
 * The headers of an answer that go to the caller; also fit for trailers. From a `provider` the marker of our own errors is
 * dropped as well, because only the platform may set it.
 */
export function toCallerHeaders(upstream: readonly string[], from: 'provider' | 'platform'): string[] {
  const nominated = toNominated(upstream);
  const kept: string[] = [];
  for (let index = 0; index + 1 < upstream.length; index += 2) {
    const name = upstream[index] ?? '';
    const key = toKey(name);
    if (droppedFromResponse.has(key) || key.startsWith('proxy-') || nominated.has(key)) continue;
    if (from === 'provider' && key.startsWith('remora-')) continue;
    kept.push(name, upstream[index + 1] ?? '');
  }
  return kept;
}

/** The names that a Connection header declares to be of this connection only. Framing is not the sender's to nominate. */
function toNominated(headers: readonly string[]): ReadonlySet<string> {
  let nominated: Set<string> | undefined;
  for (let index = 0; index + 1 < headers.length; index += 2) {
    const name = headers[index] ?? '';
    if (name.length !== 10 || name.toLowerCase() !== 'connection') continue;
    nominated ??= new Set();
    for (const item of (headers[index + 1] ?? '').split(',')) nominated.add(toKey(item.trim()));
  }
  nominated?.delete('content-length');
  nominated?.delete('content-type');
  return nominated ?? nothing;
}

function toKey(name: string): string {
  const lower = name.toLowerCase();
  return lower.includes('_') ? lower.replaceAll('_', '-') : lower;
}
