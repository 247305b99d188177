// Whether a request with the cookie of the proxy comes from a page of the same name, and not from one elsewhere that makes the browser send
// it. Pages of other sprites are on the same site, so that `SameSite` of the cookie says nothing of them. Pure.
import type { IncomingMessage } from 'node:http';

/** What is wrong with it; undefined when it may pass. `origin`: of the name that was asked for. */
export function toOriginFault(
  { method = '', headers }: Pick<IncomingMessage, 'method' | 'headers'>,
  origin: string,
): string | undefined {
  const given = headers.origin;
  const isWebSocket = headers.upgrade?.trim().toLowerCase() === 'websocket';
  if (isWebSocket) return given === undefined || given === origin ? undefined : foreign(given);
  const site = headers['sec-fetch-site'];
  if (site === 'same-origin' || site === 'none') return undefined;
  if (site === undefined) {
    // A browser that does not say where a call comes from says so for everything that changes something.
    return given === undefined || given === origin ? undefined : foreign(given);
  }
  const isNavigation =
    method === 'GET' && headers['sec-fetch-mode'] === 'navigate' && headers['sec-fetch-dest'] === 'document';
  return isNavigation ? undefined : foreign(given ?? `a ${site} page`);
}

function foreign(from: string): string {
  return `the cookie of this page was sent by ${from}; a page may call its own host only`;
}
