// Where a provider is, and which paths of its server are those of the kit.
import { withoutLastSlashes } from '../core/without-last-slashes.ts';
import { isServed } from './route.ts';

export interface ProviderPaths {
  /** The base URL without a slash at its end. */
  readonly baseUrl: string;
  readonly origin: string;
  /** Browsers send cookies over TLS only. */
  readonly isSecure: boolean;
  /** Path and query below the base URL; undefined for what lies elsewhere. */
  toRelative(target: string): string | undefined;
  isServed(target: string): boolean;
}

/** Throws a TypeError when it is no absolute http address, or has a query or a credential. */
export function createProviderPaths(given: string): ProviderPaths {
  const url = new URL(given);
  const isPlain = url.search === '' && url.hash === '' && url.username === '' && url.password === '';
  if (!/^https?:$/.test(url.protocol) || !isPlain) {
    throw new TypeError('baseUrl must be an address such as https://kv.example/remora');
  }
  const prefix = withoutLastSlashes(url.pathname);
  const toRelative = (target: string) => (target.startsWith(`${prefix}/`) ? target.slice(prefix.length) : undefined);
  return {
    baseUrl: withoutLastSlashes(given),
    origin: url.origin,
    isSecure: url.protocol === 'https:',
    toRelative,
    isServed(target) {
      const relative = toRelative(target);
      return relative !== undefined && isServed(relative);
    },
  };
}
