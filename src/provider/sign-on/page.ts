// The page that a person sees when a sign-on does not lead anywhere.
import { escapeHtml } from '../../core/escape-html.ts';
import type { ProviderAnswer } from '../provider-answer.ts';

export function toPage(status: number, title: string, text: string, cookies: readonly string[] = []): ProviderAnswer {
  const body = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${escapeHtml(title)}</title></head>
<body><h1>${escapeHtml(title)}</h1><p>${escapeHtml(text)}</p></body></html>
`;
  return {
    status,
    headers: [
      ['content-type', 'text/html; charset=utf-8'],
      ['content-security-policy', "default-src 'none'; frame-ancestors 'none'"],
      ...browserHeaders,
      ...cookies.map((cookie) => ['set-cookie', cookie] as const),
    ],
    body,
  };
}

export function toRedirect(location: string, cookies: readonly string[] = []): ProviderAnswer {
  return {
    status: 302,
    headers: [['location', location], ...browserHeaders, ...cookies.map((cookie) => ['set-cookie', cookie] as const)],
    body: '',
  };
}

/** A code or a state is in the address, which no other site may learn. */
const browserHeaders = [
  ['cache-control', 'no-store'],
  ['referrer-policy', 'no-referrer'],
  ['x-content-type-options', 'nosniff'],
] as const;
