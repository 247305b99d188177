// A provider for development: it answers every path with what it received, streams events at /sse and echoes frames at /ws, so that
// calls through the gateway can be tried without the internet.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { WebSocketServer } from 'ws';
import { listenOnLoopback } from '../../http/listen-on-tcp.ts';
import { nodeHttp } from '../../http/node-http.ts';
import { sendError, sendJson } from '../../http/reply.ts';
import { redactHeaders } from './redact-headers.ts';

const FRAME_CAP_BYTES = 1024 * 1024;
const CLOSE_MS = 500;

export interface SampleProvider extends AsyncDisposable {
  readonly url: string;
}

/** The answer of every path but /sse and /ws. `target` is the request target exactly as it was received. */
export interface Echo {
  readonly method: string;
  readonly target: string;
  /** The request headers, with credentials shortened. */
  readonly headers: Readonly<Record<string, string>>;
  /** The length of the body, which is not kept. */
  readonly body_bytes: number;
}

/** Listens on 127.0.0.1; port 0 takes a free one. Rejects when the port is taken. */
export async function openSampleProvider(options: { readonly port: number }): Promise<SampleProvider> {
  const sockets = new WebSocketServer({ noServer: true, maxPayload: FRAME_CAP_BYTES });
  sockets.on('connection', (socket) => {
    socket.on('message', (data, isBinary) => socket.send(data, { binary: isBinary }));
    socket.on('error', () => undefined);
  });
  const server = nodeHttp.createServer({ maxHeaderSize: 64 * 1024, requestTimeout: 0 }, (request, response) => {
    response.on('error', () => undefined);
    serve(request, response).catch((error: unknown) => sendError(response, error));
  });
  server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    socket.on('error', () => undefined);
    if (pathOf(request) === '/ws')
      sockets.handleUpgrade(request, socket, head, (made) => sockets.emit('connection', made));
    else socket.end('HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n');
  });
  const { port } = await listenOnLoopback(server, '127.0.0.1', options.port);

  return {
    url: `http://127.0.0.1:${port}`,
    async [Symbol.asyncDispose]() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      for (const socket of sockets.clients) socket.terminate();
      server.closeIdleConnections();
      const cut = setTimeout(() => server.closeAllConnections(), CLOSE_MS);
      await closed;
      clearTimeout(cut);
    },
  };
}

async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
  if (pathOf(request) === '/sse') {
    streamEvents(request, response);
    return;
  }
  let body_bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) body_bytes += chunk.length;
  const echo: Echo = {
    method: request.method ?? '',
    target: request.url ?? '',
    headers: redactHeaders(request.headers),
    body_bytes,
  };
  sendJson(response, 200, echo);
}

/** `?count=` events, or without end when it is absent or 0, one each `?interval_ms=` (10 to 60000, 250 when absent). */
function streamEvents(request: IncomingMessage, response: ServerResponse): void {
  const query = new URLSearchParams((request.url ?? '').split('?')[1] ?? '');
  const count = clamp(query.get('count'), 0, 1_000_000, 0);
  const interval_ms = clamp(query.get('interval_ms'), 10, 60_000, 250);
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
  let sent = 0;
  const send = () => {
    // A reader that does not keep up misses events, so that none are queued in memory.
    if (response.writableNeedDrain) return;
    sent += 1;
    response.write(
      `id: ${sent}\nevent: beat\ndata: ${JSON.stringify({ n: sent, time: new Date().toISOString() })}\n\n`,
    );
    if (sent === count) response.end();
  };
  const timer = setInterval(send, interval_ms);
  response.once('close', () => clearInterval(timer));
  send();
}

function pathOf(request: IncomingMessage): string {
  return (request.url ?? '').split('?')[0] ?? '';
}

function clamp(text: string | null, least: number, most: number, otherwise: number): number {
  const value = Number(text ?? Number.NaN);
  return Number.isNaN(value) ? otherwise : Math.min(most, Math.max(least, Math.floor(value)));
}
