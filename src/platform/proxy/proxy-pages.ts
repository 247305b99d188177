// What the proxy answers by itself: errors, as a small page for people, and the page that waits for a machine.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { type MapError, toErrorAnswer } from '../../http/error-answer.ts';
import { sendError } from '../../http/reply.ts';
import { toMessagePage } from '../sign-on/pages.ts';
import { sendPage } from '../sign-on/send-page.ts';
import { prefersHtml } from './wants-page.ts';

const RELOAD_S = 2;

const titles: Readonly<Record<string, string>> = {
  not_found: 'Nothing here',
  unauthorized: 'No access',
  forbidden: 'No access',
  unknown_host: 'Nothing here',
};

/** Breaks the connection off when the answer has begun. */
export function answerError(
  request: IncomingMessage,
  response: ServerResponse,
  error: unknown,
  mapError: MapError,
): void {
  if (response.headersSent || response.writableEnded || !prefersHtml(request)) {
    sendError(response, error, mapError);
    return;
  }
  const { status, body, headers } = toErrorAnswer(error, mapError);
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
  const title = titles[body.error] ?? 'This page cannot be shown now';
  sendPage(response, { status, html: toMessagePage(title, body.message) });
}

/** The method and the body stay what they were, also where browsers make a GET of a POST that was answered with 301. */
export function answerMoved(response: ServerResponse, location: string): void {
  const { method = '' } = response.req;
  const isRead = method === 'GET' || method === 'HEAD';
  // The service may not ask for it any more by tomorrow.
  response.writeHead(isRead ? 301 : 308, { location, 'content-length': 0, 'cache-control': 'no-store' });
  response.end();
}

/** Loads itself again, without a script. */
export function answerWaiting(response: ServerResponse): void {
  response.setHeader('refresh', String(RELOAD_S));
  response.setHeader('remora-error', 'not_ready');
  const html = toMessagePage('Starting', 'The machine behind this page is starting. The page comes by itself.');
  sendPage(response, { status: 503, html, retryAfter_ms: RELOAD_S * 1_000 });
}
