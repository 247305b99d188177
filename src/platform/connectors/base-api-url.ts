// The address that a connector brings itself, where its provider takes one (Sandbox API, ApiKeyConnectionRequest). Pure.

import { isIP } from 'node:net';
import { RemoraError } from '../../core/remora-error.ts';
import { withoutLastSlashes } from '../../core/without-last-slashes.ts';
import type { CatalogueEntry } from '../catalogue/catalogue-entry.ts';

/**
 * The address to store: origin and path without a slash at the end; null for a provider with an address of its own. Throws
 * `invalid_request` naming the field. Names are not looked up here.
 */
export function parseBaseApiUrl(entry: CatalogueEntry, given: string | undefined): string | null {
  if (entry.address.type === 'fixed') {
    if (given !== undefined) throw refuse(`${entry.provider} has an address of its own; leave it out`);
    return null;
  }
  if (given === undefined) throw refuse(`${entry.provider} needs the address of your API`);
  const url = URL.canParse(given) ? new URL(given) : undefined;
  if (url === undefined) throw refuse('it is not a URL');
  if (url.protocol !== 'https:' && !(url.protocol === 'http:' && entry.allow_http)) throw refuse('it must be https');
  if (url.username !== '' || url.password !== '') throw refuse('it must not hold a name or a password');
  if (url.search !== '' || url.hash !== '' || /[?#]/.test(given))
    throw refuse('it must not have a query or a fragment');
  if (hasOddPath(given, url)) throw refuse('its path must be plain');
  if (!entry.allow_http) checkHost(url, entry.address.hosts);
  return url.origin + withoutLastSlashes(url.pathname);
}

/** What a URL parser would repair is refused: the address that is stored is the one that was meant. */
function hasOddPath(given: string, url: URL): boolean {
  const isRepaired = /[\\%\s]|\/\.{1,2}(?:\/|$)/.test(given);
  return isRepaired || !/^[A-Za-z0-9._~/-]*$/.test(url.pathname) || url.pathname.includes('//');
}

function checkHost(url: URL, hosts: readonly string[] | undefined): void {
  const host = url.hostname.replace(/\.$/, '');
  const isPublicName = isIP(host.replaceAll(/[[\]]/g, '')) === 0 && /\.[a-z][a-z0-9-]*$/.test(host);
  if (!isPublicName || /(^|\.)(localhost|local|internal|arpa)$/.test(host))
    throw refuse('its host must be a public name');
  const isAllowed =
    hosts?.some((rule) => (rule.startsWith('*.') ? host.endsWith(rule.slice(1)) : host === rule)) ?? true;
  if (!isAllowed) throw refuse(`its host must be one of ${hosts?.join(', ')}`);
}

function refuse(problem: string): RemoraError {
  const field = 'body.base_api_url';
  return new RemoraError('invalid_request', `${field}: ${problem}`, {
    details: { fields: [{ field, message: problem }] },
  });
}
