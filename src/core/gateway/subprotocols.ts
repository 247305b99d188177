// Credentials among the subprotocols of a WebSocket handshake. A browser can set no other header, so that SDKs write keys
// there. Such an element is for Remora, and no other server gets it. Pure.
import { CAPABILITY_PREFIX, holdsCapability } from './capability-text.ts';

/** What stands before a key in one element; compared without case. */
const keyPrefixes = [
  'access-token.',
  'access_token.',
  'api-key.',
  'apikey.',
  'auth.',
  'authorization.',
  'base64url.bearer.authorization.k8s.io.',
  'basic.',
  'bearer.',
  'client-secret.',
  'grpc-metadata-macaroon+',
  'header-',
  'jwt.',
  'openai-insecure-api-key.',
  'token.',
  'x-api-key.',
  'xai-client-secret.',
] as const;

/** Elements after which the next one is a key. */
const keyMarkers: ReadonlySet<string> = new Set([
  'access-token',
  'access_token',
  'accesstoken',
  'api-key',
  'api_key',
  'apikey',
  'authorization',
  'base64url.bearer.authorization.k8s.io',
  'basic',
  'bearer',
  'jwt',
  'openai-insecure-api-key',
  'token',
  'x-api-key',
  'xai-client-secret',
]);

/** No name of a protocol is this long, and few keys are shorter. */
const NAME_MAX = 64;
/** No client speaks more protocols than this; further elements count as absent. */
const ELEMENTS_MAX = 32;
const JSON_WEB_TOKEN = /^eyJ[\w-]*\.[\w-]+\./;

/** The list without the elements that carry a credential, in one line; empty when none is left. `values` are those of all such headers. */
export function withoutCredentials(values: readonly string[]): string {
  const elements = toElements(values);
  const kept = elements.filter((element, index) => {
    const before = elements[index - 1]?.toLowerCase();
    return !carriesKey(element) && !(before !== undefined && keyMarkers.has(before));
  });
  return kept.join(', ');
}

/** The capability tokens among the elements, bare or behind the prefix that an SDK writes before a key. */
export function readSubprotocolTokens(value: string): readonly string[] {
  return toElements([value]).flatMap((element) => {
    const start = element.indexOf(CAPABILITY_PREFIX);
    return start < 0 ? [] : [element.slice(start)];
  });
}

function carriesKey(element: string): boolean {
  const lower = element.toLowerCase();
  if (element.length > NAME_MAX || keyMarkers.has(lower) || holdsCapability(lower)) return true;
  return JSON_WEB_TOKEN.test(element) || keyPrefixes.some((prefix) => lower.startsWith(prefix));
}

function toElements(values: readonly string[]): readonly string[] {
  return values
    .flatMap((value) => value.split(',', ELEMENTS_MAX))
    .slice(0, ELEMENTS_MAX)
    .map((element) => element.trim())
    .filter((element) => element !== '');
}
