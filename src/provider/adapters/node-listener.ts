// A handler behind a server of node:http.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ProviderAnswer } from '../provider-answer.ts';
import type { ProviderHandler } from '../provider-handler.ts';
import { BODY_CAP_BYTES, type ReceivedRequest, readCapped, tooLarge } from '../received-request.ts';

/** How long a caller may go on sending after it was answered. */
const LINGER_MS = 2_000;

export type NodeListener = (request: IncomingMessage, response: ServerResponse) => void;

/** A listener for `createServer(…)`. Path and query reach the handler byte for byte. */
export function toNodeListener(handler: ProviderHandler): NodeListener {
  return (request, response) => void serveNode(handler, toReceived(request, request.url ?? ''), response);
}

export async function serveNode(handler: ProviderHandler, request: ReceivedRequest, response: ServerResponse) {
  response.on('error', () => undefined);
  const answer = await handler.serve(request);
  try {
    write(response, answer);
  } catch {
    // A header of the provider's own that cannot be written.
    response.destroy();
  }
}

/** @param whole the body, where somebody has read it before. */
export function toReceived(request: IncomingMessage, target: string, whole?: Uint8Array): ReceivedRequest {
  return {
    method: request.method ?? '',
    target,
    header(name) {
      const value = request.headers[name];
      return Array.isArray(value) ? value.join(', ') : value;
    },
    async readBody() {
      const declared_bytes = whole?.length ?? Number(request.headers['content-length'] ?? 0);
      if (declared_bytes > BODY_CAP_BYTES) throw tooLarge();
      return whole ?? (await readCapped(request.iterator({ destroyOnReturn: false })));
    },
  };
}

function write(response: ServerResponse, { status, headers, body }: ProviderAnswer): void {
  if (response.destroyed || response.headersSent) return;
  response.statusCode = status;
  for (const [name, value] of headers) response.appendHeader(name, value);
  if (body !== '') response.setHeader('content-length', Buffer.byteLength(body));
  const { req } = response;
  if (req.complete || req.readableEnded) {
    response.end(body);
    return;
  }
  // A caller that still sends reads the answer first: a connection that closes at once may take it away.
  response.setHeader('connection', 'close');
  response.write(body);
  const linger = setTimeout(() => response.end(), LINGER_MS);
  linger.unref();
  req.once('end', () => response.end());
  response.once('close', () => clearTimeout(linger));
  req.on('error', () => undefined).resume();
}
