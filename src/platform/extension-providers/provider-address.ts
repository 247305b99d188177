// The addresses of an extension provider as the operator gives them. Pure. They may be of a private network: the operator vouches for them.
import { refuseField } from '../../core/refuse-field.ts';
import { withoutLastSlashes } from '../../core/without-last-slashes.ts';
import { isLoopback } from '../../http/is-loopback.ts';

/** The base URL to store, without a slash at its end. Throws `invalid_request` naming the field. */
export function parseProviderBaseUrl(given: string): string {
  const field = 'body.base_url';
  const url = parseAddress(given, field);
  if (/[?#]/.test(given)) throw refuseField(field, 'it must not have a query or a fragment');
  const isRepaired = /[\\%\s]|\/\.{1,2}(?:\/|$)/.test(given) || !/^[A-Za-z0-9._~/-]*$/.test(url.pathname);
  if (isRepaired || withoutLastSlashes(url.pathname).includes('//')) throw refuseField(field, 'its path must be plain');
  return url.origin + withoutLastSlashes(url.pathname);
}

/** A redirect URI, kept as it was given: sign-on compares it character by character. Throws `invalid_request` naming the field. */
export function parseRedirectUri(given: string, index: number): string {
  const field = `body.redirect_uris.${index}`;
  parseAddress(given, field);
  if (given.includes('#')) throw refuseField(field, 'it must not have a fragment');
  if (!/^[\x21-\x7e]+$/.test(given)) throw refuseField(field, 'it may hold visible ASCII only');
  return given;
}

function parseAddress(given: string, field: string): URL {
  const url = URL.canParse(given) ? new URL(given) : undefined;
  if (url === undefined) throw refuseField(field, 'it is not a URL');
  const isOwn = url.protocol === 'http:' && isLoopback(url.hostname);
  if (url.protocol !== 'https:' && !isOwn) throw refuseField(field, 'it must be https, or http on this machine itself');
  if (url.username !== '' || url.password !== '') throw refuseField(field, 'it must not hold a name or a password');
  return url;
}
