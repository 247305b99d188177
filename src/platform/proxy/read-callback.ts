// The addresses to which sign-on may send a browser back: one on each name that the proxy serves. Pure.
import { parseHost } from './parse-host.ts';
import type { ProxyAddresses } from './proxy-addresses.ts';

export const CALLBACK = '/.remora/callback';

/** The name of such an address; undefined for every other one. */
export function readCallback(
  redirect_uri: string,
  { domain, toOrigin }: Pick<ProxyAddresses, 'domain' | 'toOrigin'>,
): string | undefined {
  const name = URL.canParse(redirect_uri) ? new URL(redirect_uri).hostname : '';
  const isServed = parseHost(name, domain) !== undefined && redirect_uri === toOrigin(name) + CALLBACK;
  return isServed ? name : undefined;
}
