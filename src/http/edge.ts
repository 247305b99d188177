// The edge: takes requests from any listener, finds the row, parses once, calls the handler and writes the answer. Whatever a
// handler throws becomes an error body, and nothing it throws ends the process.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Operation, Operations } from '../contract/operation.ts';
import { RemoraError } from '../core/remora-error.ts';
import { clampKeepAlive, ResponseSink } from './event-sink.ts';
import { type Call, type Handlers, Reply } from './handler.ts';
import { sendError, sendJson, toErrorAnswer } from './reply.ts';
import { parseWith, readBody, readQuery } from './request-body.ts';
import { createRouter } from './router.ts';

export const TARGET_CAP_BYTES = 8 * 1024;

export interface EdgeLog {
  error(fields: object, message: string): void;
  debug(fields: object, message: string): void;
}

export interface EdgeOptions<Ops extends Operations, P> {
  readonly operations: Ops;
  readonly handlers: Handlers<Ops, P>;
  /** Throws `unauthorized` or `forbidden`; what it returns is `call.principal`. */
  readonly authenticate: (request: IncomingMessage, row: Operation, door: string) => P | Promise<P>;
  readonly log: EdgeLog;
  /** Checks every JSON answer against its row, for tests: an answer that does not fit is a 500. */
  readonly checkAnswers?: boolean;
}

export interface Edge extends AsyncDisposable {
  /** A server whose requests come through this edge; `door` names the listener for `authenticate`. Not yet listening. */
  createServer(door: string): Server;
  /** Streams that are open now. */
  readonly streams: number;
  /** Ends streams, lets answers finish for at most `deadline_ms`, then cuts what is left. */
  drain(deadline_ms: number): Promise<void>;
}

type AnyHandler = (call: Call<Operation, unknown>, out?: unknown) => unknown;

export function createEdge<const Ops extends Operations, P>(options: EdgeOptions<Ops, P>): Edge {
  const router = createRouter(options.operations);
  const handlers = options.handlers as unknown as Readonly<Record<string, AnyHandler>>;
  const servers = new Set<Server>();
  const sinks = new Set<ResponseSink<unknown>>();
  let draining = false;

  async function serve(request: IncomingMessage, response: ServerResponse, door: string): Promise<void> {
    const target = request.url ?? '';
    checkTarget(target);
    if (draining) throw new RemoraError('shutting_down', 'the daemon is stopping; try again', { retryAfter_ms: 1_000 });
    const question = target.indexOf('?');
    const match = router.match(request.method ?? '', question < 0 ? target : target.slice(0, question));
    const { row } = match;
    const principal = await options.authenticate(request, row, door);
    const handler = handlers[match.id];
    if (handler === undefined) throw new Error(`row ${match.id} has no handler`);
    const call = await toCall(request, response, row, match.params, principal);
    switch (row.answer.kind) {
      case 'raw':
        await handler(call, response);
        return;
      case 'stream': {
        const keepAlive_ms = clampKeepAlive(readQuery(target).keepalive);
        const type = row.answer.type;
        const sink = new ResponseSink(
          request,
          response,
          type === undefined ? { keepAlive_ms } : { keepAlive_ms, type },
        );
        sinks.add(sink);
        sink.onClose(() => sinks.delete(sink));
        await handler(call, sink);
        return;
      }
      case 'json': {
        const value = await handler(call);
        const reply = value instanceof Reply ? value : new Reply(row.answer.status, value);
        if (options.checkAnswers) row.answer.schema.parse(reply.body);
        sendJson(response, reply.status, reply.body, reply.headers);
        return;
      }
      case 'empty':
        await handler(call);
        response.writeHead(row.answer.status).end();
        return;
      case 'text': {
        const text = String(await handler(call));
        response.writeHead(row.answer.status, { 'content-type': row.answer.type }).end(text);
        return;
      }
      default:
        row.answer satisfies never;
    }
  }

  function onRequest(request: IncomingMessage, response: ServerResponse, door: string): void {
    response.on('error', () => undefined);
    serve(request, response, door).catch((error: unknown) => {
      if (!(error instanceof RemoraError) || error.code === 'internal') {
        options.log.error({ err: error, method: request.method, path: pathOf(request) }, 'a handler failed');
      }
      sendError(response, error);
    });
  }

  return {
    createServer(door) {
      const server = createServer(
        { maxHeaderSize: 32 * 1024, requestTimeout: 0, headersTimeout: 30_000, keepAliveTimeout: 65_000 },
        (request, response) => onRequest(request, response, door),
      );
      server.on('connect', (_request, socket) => {
        refuse(socket, new RemoraError('method_not_allowed', 'CONNECT is not served here', { details: { allow: '' } }));
      });
      server.on('clientError', (error: NodeJS.ErrnoException, socket) => refuse(socket, toParseError(error)));
      servers.add(server);
      server.once('close', () => servers.delete(server));
      return server;
    },
    get streams() {
      return sinks.size;
    },
    async drain(deadline_ms) {
      draining = true;
      const closed = [...servers].map((server) => new Promise<void>((resolve) => server.close(() => resolve())));
      for (const server of servers) server.closeIdleConnections();
      for (const sink of sinks) sink.end();
      const cut = setTimeout(() => {
        for (const server of servers) server.closeAllConnections();
      }, deadline_ms);
      await Promise.all(closed);
      clearTimeout(cut);
    },
    async [Symbol.asyncDispose]() {
      await this.drain(0);
    },
  };
}

async function toCall(
  request: IncomingMessage,
  response: ServerResponse,
  row: Operation,
  params: Readonly<Record<string, string>>,
  principal: unknown,
): Promise<Call<Operation, unknown>> {
  let controller: AbortController | undefined;
  const parsed = {
    params: row.params === undefined ? params : parseWith(row.params, params, 'path'),
    query: row.query === undefined ? {} : parseWith(row.query, readQuery(request.url ?? ''), 'query'),
    body:
      row.body === undefined ? undefined : parseWith(row.body, await readBody(request, row.bodyType ?? 'json'), 'body'),
  };
  return {
    ...parsed,
    principal,
    request,
    get signal() {
      if (controller === undefined) {
        const made = new AbortController();
        controller = made;
        if (response.destroyed) made.abort();
        response.once('close', () => {
          if (!response.writableFinished) made.abort();
        });
      }
      return controller.signal;
    },
  } as Call<Operation, unknown>;
}

function checkTarget(target: string): void {
  if (target.length > TARGET_CAP_BYTES) {
    throw new RemoraError('target_too_long', `the request target may have at most ${TARGET_CAP_BYTES} bytes`);
  }
  if (!target.startsWith('/')) {
    throw new RemoraError('invalid_target', 'the request target must be a path that begins with "/"');
  }
}

function pathOf(request: IncomingMessage): string {
  return (request.url ?? '').split('?')[0] ?? '';
}

function toParseError(error: NodeJS.ErrnoException): RemoraError {
  if (error.code === 'HPE_HEADER_OVERFLOW')
    return new RemoraError('headers_too_large', 'the request headers are too large');
  if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT') return new RemoraError('timeout', 'the request headers took too long');
  return new RemoraError('invalid_request', 'the request is not valid HTTP/1.1');
}

function refuse(socket: Duplex, error: RemoraError): void {
  socket.on('error', () => undefined);
  if (!socket.writable) {
    socket.destroy();
    return;
  }
  const { status, body, headers } = toErrorAnswer(error);
  const text = `${JSON.stringify(body)}\n`;
  const lines = [
    `HTTP/1.1 ${status} ${error.code}`,
    'content-type: application/json',
    `content-length: ${Buffer.byteLength(text)}`,
    'connection: close',
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
  ];
  socket.end(`${lines.join('\r\n')}\r\n\r\n${text}`);
}
