// Whether somebody looks at a page: a browser that goes to an address, and no program or script.
import type { IncomingMessage } from 'node:http';

/** Judges by `Accept`: a browser names HTML first, programs name something else or everything. */
export function prefersHtml({ headers, method }: IncomingMessage): boolean {
  if (method !== 'GET' && method !== 'HEAD') return false;
  const accept = headers.accept ?? '';
  return /^\s*(?:text\/html|application\/xhtml\+xml)\b/i.test(accept);
}

/** A page as a whole, which a redirect may lead elsewhere: not a frame, an image, or a call of a script. */
export function isNavigation(request: IncomingMessage): boolean {
  const { headers } = request;
  if (!prefersHtml(request) || headers.upgrade !== undefined) return false;
  const mode = headers['sec-fetch-mode'];
  const dest = headers['sec-fetch-dest'];
  return (mode === undefined || mode === 'navigate') && (dest === undefined || dest === 'document');
}
