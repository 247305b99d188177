// The address, the path and the headers of a call to a provider, with the credential where the provider wants it. Pure; the path of the
// caller is not re-encoded.

import { withoutCapability } from '../../core/gateway/capability-text.ts';
import { rememberNames } from '../../core/http/remember-names.ts';
import type { Secret } from '../../core/secret.ts';
import { withoutLastSlashes } from '../../core/without-last-slashes.ts';
import type { CatalogueEntry } from '../catalogue/catalogue-entry.ts';
import { stripQuery } from './strip-query.ts';

export interface ProviderCall {
  readonly origin: string;
  /** The part before the caller's own path: the path of the address, and the credential where it is a path segment. */
  readonly base: string;
  /** The path with the query. */
  readonly path: string;
  /** Headers to add, as a flat list of names and values, the credential last. */
  readonly injected: readonly string[];
}

export interface CallerPart {
  /** Path and query relative to the address, as the caller sent them. */
  readonly path: string;
  /** A flat list of names and values, as the caller sent them. */
  readonly rawHeaders: readonly string[];
}

/** What is read of an address: the same few are called again and again. */
const partsOf = rememberNames((address) => {
  const { origin, pathname } = new URL(address);
  return { origin, base: withoutLastSlashes(pathname) };
});

/** `address`: the connector's address, without a slash at the end. */
export function toProviderCall(
  entry: Pick<CatalogueEntry, 'default_headers' | 'strip_query' | 'injection'>,
  address: string,
  credential: Secret,
  caller: CallerPart,
): ProviderCall {
  const { origin, base } = partsOf(address);
  const injected = toDefaultHeaders(entry.default_headers, caller.rawHeaders);
  const stripped = stripQuery(withoutCapability(caller.path), entry.strip_query);
  const { injection } = entry;
  switch (injection.in) {
    case 'header':
      injected.push(injection.name, injection.prefix + credential.reveal());
      return { origin, base, path: base + stripped, injected };
    case 'query': {
      const path = base + stripQuery(stripped, [injection.name]);
      const mark = path.includes('?') ? '&' : '?';
      const pair = `${injection.name}=${encodeURIComponent(credential.reveal())}`;
      return { origin, base, path: path + mark + pair, injected };
    }
    case 'path': {
      const whole = `${base}/${injection.prefix}${credential.reveal()}`;
      return { origin, base: whole, path: whole + stripped, injected };
    }
    default:
      return injection satisfies never;
  }
}

function toDefaultHeaders(defaults: Readonly<Record<string, string>>, rawHeaders: readonly string[]): string[] {
  const added = Object.entries(defaults);
  if (added.length === 0) return [];
  const sent = new Set(rawHeaders.filter((_, index) => index % 2 === 0).map((name) => name.toLowerCase()));
  return added.flatMap(([name, value]) => (sent.has(name) ? [] : [name, value]));
}
