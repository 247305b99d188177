// Writes a page or a redirect of sign-on, with the headers that keep it out of frames, caches, and the address lists of other sites.
import type { ServerResponse } from 'node:http';
import { STYLE_SOURCE } from './pages.ts';

export interface PageAnswer {
  readonly status: number;
  readonly html: string;
  /** Where forms of the page, and the redirects that answer them, may lead besides this host: browsers hold both to `form-action`. */
  readonly formOrigins?: readonly string[];
  readonly cookies?: readonly string[];
  readonly retryAfter_ms?: number;
}

export function sendPage(
  response: ServerResponse,
  { status, html, formOrigins = [], cookies = [], ...more }: PageAnswer,
): void {
  const policy = [
    "default-src 'none'",
    `style-src ${STYLE_SOURCE}`,
    `form-action ${["'self'", ...new Set(formOrigins)].join(' ')}`,
    "frame-ancestors 'none'",
    "base-uri 'none'",
  ];
  response.writeHead(status, {
    ...plain,
    'content-type': 'text/html; charset=utf-8',
    'content-length': Buffer.byteLength(html),
    'content-security-policy': policy.join('; '),
    ...(cookies.length === 0 ? {} : { 'set-cookie': [...cookies] }),
    ...(more.retryAfter_ms === undefined ? {} : { 'retry-after': String(Math.ceil(more.retryAfter_ms / 1_000)) }),
  });
  response.end(html);
}

/** 303: whatever the method was, the browser goes on with GET. */
export function sendRedirect(response: ServerResponse, location: string, cookies: readonly string[] = []): void {
  response.writeHead(response.req.method === 'POST' ? 303 : 302, {
    ...plain,
    location,
    'content-length': 0,
    ...(cookies.length === 0 ? {} : { 'set-cookie': [...cookies] }),
  });
  response.end();
}

const plain = {
  'cache-control': 'no-store',
  'referrer-policy': 'no-referrer',
  'x-frame-options': 'DENY',
  'x-content-type-options': 'nosniff',
};
