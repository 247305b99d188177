// Where a call goes and what is put into it: the connector's address, the path after it, and the credential where the provider
// wants it. Pure; what the caller sent is not re-encoded.
import type { Secret } from '../../core/secret.ts';
import type { CatalogueEntry } from '../catalogue/catalogue-entry.ts';

export interface ProviderCall {
  readonly origin: string;
  /** Path and query. */
  readonly path: string;
  /** Flat: name, value. The credential last. */
  readonly injected: readonly string[];
}

export interface CallerPart {
  /** Path and query relative to the address, as they were sent. */
  readonly path: string;
  /** Flat, as they were sent. */
  readonly rawHeaders: readonly string[];
}

/** `address`: where the connector points, without a slash at the end. */
export function toProviderCall(
  entry: CatalogueEntry,
  address: string,
  credential: Secret,
  caller: CallerPart,
): ProviderCall {
  const url = new URL(address);
  const base = url.pathname.replace(/\/+$/, '');
  const injected = toDefaultHeaders(entry.default_headers, caller.rawHeaders);
  const stripped = stripQuery(caller.path, entry.strip_query);
  const { injection } = entry;
  switch (injection.in) {
    case 'header':
      injected.push(injection.name, injection.prefix + credential.reveal());
      return { origin: url.origin, path: base + stripped, injected };
    case 'query': {
      const path = base + stripQuery(stripped, [injection.name]);
      const mark = path.includes('?') ? '&' : '?';
      const pair = `${injection.name}=${encodeURIComponent(credential.reveal())}`;
      return { origin: url.origin, path: path + mark + pair, injected };
    }
    case 'path':
      return { origin: url.origin, path: `${base}/${injection.prefix}${credential.reveal()}${stripped}`, injected };
    default:
      return injection satisfies never;
  }
}

/** Drops parameters by name, however their names are written, and leaves every other byte alone. */
export function stripQuery(path: string, names: readonly string[]): string {
  const question = path.indexOf('?');
  if (question < 0 || names.length === 0) return path;
  const parts = path.slice(question + 1).split(/([&;])/);
  const kept: string[] = [];
  let dropped = false;
  for (let index = 0; index < parts.length; index += 2) {
    const part = parts[index] ?? '';
    if (names.includes(toName(part))) {
      dropped = true;
      continue;
    }
    if (kept.length > 0) kept.push(parts[index - 1] ?? '&');
    kept.push(part);
  }
  if (!dropped) return path;
  const bare = path.slice(0, question);
  return kept.length === 0 ? bare : `${bare}?${kept.join('')}`;
}

function toName(part: string): string {
  const raw = (part.split('=')[0] ?? '').replaceAll('+', ' ');
  return decode(raw).replace(/\[.*$/, '').trim().toLowerCase();
}

/** A broken escape is left as it is written: whoever reads the name sees the same text. */
function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function toDefaultHeaders(defaults: Readonly<Record<string, string>>, rawHeaders: readonly string[]): string[] {
  const sent = new Set(rawHeaders.filter((_, index) => index % 2 === 0).map((name) => name.toLowerCase()));
  return Object.entries(defaults).flatMap(([name, value]) => (sent.has(name) ? [] : [name, value]));
}
