// Turns a URL of the provider into the URL of the gateway that leads there. Pure.
import type { Injection } from '../catalogue/catalogue-entry.ts';
import type { ProviderCall } from '../upstream/provider-call.ts';
import { stripQuery } from '../upstream/strip-query.ts';

/**
 * Rewrites URLs in the headers of an answer: a URL under the connector's address becomes a path under `gatewayPath`, without the
 * credential. Undefined for any other URL.
 */
export function createUrlRewriter(
  { origin, base }: Pick<ProviderCall, 'origin' | 'base'>,
  injection: Injection,
  gatewayPath: string,
): (url: string) => string | undefined {
  return (url) => {
    if (url.startsWith('//')) return undefined;
    const encoded = encodeURI(base).replaceAll(':', '%3A');
    const bases = [origin + base, base, origin + encoded, encoded];
    const names = injection.in === 'query' ? [injection.name] : [];
    const found = bases.find((each) => url.startsWith(each) && /^(?:[/?#]|$)/.test(url.slice(each.length)));
    if (found === undefined) return undefined;
    const rest = url.slice(found.length);
    const hash = rest.indexOf('#');
    const target = stripQuery(hash < 0 ? rest : rest.slice(0, hash), names);
    return gatewayPath + target + (hash < 0 ? '' : rest.slice(hash));
  };
}
