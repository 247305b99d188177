// The edge: takes requests from any listener, finds the row, parses once, calls the handler and writes the answer. Whatever a
// handler throws becomes an error body, and nothing it throws ends the process.
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { errorStatus } from '../contract/errors.ts';
import type { Operation, Operations } from '../contract/operation.ts';
import { RemoraError } from '../core/remora-error.ts';
import { withoutQuery } from '../core/without-query.ts';
import { toCall } from './call.ts';
import { checkRequest } from './check-request.ts';
import { type Connections, watchConnections } from './connections.ts';
import { clampKeepAlive } from './event-sink.ts';
import { type Call, type Handlers, Reply } from './handler.ts';
import { nodeHttp } from './node-http.ts';
import { openSink, type ServedSink } from './open-sink.ts';
import { refuse, toParseError } from './refuse.ts';
import { sendError, sendJson } from './reply.ts';
import { readQuery } from './request-body.ts';
import { createRouter } from './router.ts';
import { asksForWebSocket, openUpgrade, type Upgrade } from './upgrade.ts';

const HEADER_CAP_BYTES = 32 * 1024;
const HEADER_DEADLINE_MS = 30_000;
const KEPT_CONNECTION_MS = 65_000;
/** How long a connection may take to bring a request that was on its way when the listeners were handed over. */
const USED_LINGER_MS = 100;
const FRESH_LINGER_MS = 500;
/** Between two harsher steps once a deadline is over. */
const LAST_WORD_MS = 50;

export interface EdgeLog {
  error(fields: object, message: string): void;
  debug(fields: object, message: string): void;
}

export interface EdgeOptions<Ops extends Operations, P> {
  readonly operations: Ops;
  readonly handlers: Handlers<Ops, P>;
  /** Throws `unauthorized` or `forbidden`; what it returns is `call.principal`. */
  readonly authenticate: (request: IncomingMessage, row: Operation, door: string) => P | Promise<P>;
  /** When it aborts, the streams that this caller reads end with its reason. */
  readonly until?: (principal: P) => AbortSignal | undefined;
  readonly log: EdgeLog;
  /** Checks every JSON answer against its row, for tests: an answer that does not fit is a 500. */
  readonly checkAnswers?: boolean;
}

export interface Edge extends AsyncDisposable {
  /** A server whose requests come through this edge; `door` names the listener for `authenticate`. Not yet listening. */
  createServer(door: string): Server;
  /** Streams that are open now. */
  readonly streams: number;
  /** Refuses what is new, ends streams, lets answers finish for at most `deadline_ms`, then cuts. Again: a new deadline. */
  drain(deadline_ms: number): Promise<void>;
  /**
   * Stops accepting and ends streams as `drain` does, but refuses nobody: whoever is connected is answered, also on a request
   * that is still on its way. At the deadline `onDeadline` may end what answers wait for; those that have not begun even then
   * are a 503 `resuming`, all others are cut.
   */
  handOver(deadline_ms: number, onDeadline?: () => void): Promise<void>;
}

type AnyHandler = (call: Call<Operation, unknown>, out?: unknown) => unknown;

export function createEdge<const Ops extends Operations, P>(options: EdgeOptions<Ops, P>): Edge {
  const router = createRouter(options.operations);
  const handlers = options.handlers as unknown as Readonly<Record<string, AnyHandler>>;
  const servers = new Map<Server, Connections>();
  const sinks = new Set<ServedSink>();
  let phase: 'open' | 'handing_over' | 'draining' = 'open';

  const stopping = new AbortController();

  async function serve(
    request: IncomingMessage,
    response: ServerResponse,
    door: string,
    upgrade?: Upgrade,
  ): Promise<void> {
    checkRequest(request);
    checkOpen();
    const target = request.url ?? '';
    const { id, row, params } = router.match(request.method ?? '', pathOf(request));
    const given = options.authenticate(request, row, door);
    const principal = given instanceof Promise ? await given : given;
    const handler = handlers[id];
    if (handler === undefined) throw new Error(`row ${id} has no handler`);
    const made = toCall({ request, response, row, params, principal, upgrade });
    const call = made instanceof Promise ? await made : made;
    switch (row.answer.kind) {
      case 'raw':
        await handler(call, response);
        return;
      case 'stream': {
        const { type } = row.answer;
        const { keepalive } = readQuery(target);
        const isQuiet = row.answer.quiet === true && keepalive === undefined;
        const keepAlive_ms = isQuiet ? Number.POSITIVE_INFINITY : clampKeepAlive(keepalive);
        checkOpen();
        const onError = (error: unknown) => report(error, request, response);
        const form = { keepAlive_ms, onError, ...(type === undefined ? {} : { type }) };
        const sink = await openSink(call, response, form, options.until?.(principal));
        await serveStream(handler, call, response, sink);
        return;
      }
      case 'json': {
        const value = await handler(call);
        if (response.writableEnded) return;
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

  async function serveStream(
    handler: AnyHandler,
    call: Call<Operation, unknown>,
    response: ServerResponse,
    sink: ServedSink,
  ): Promise<void> {
    sinks.add(sink);
    sink.onClose(() => sinks.delete(sink));
    try {
      await handler(call, sink);
      if (phase !== 'open') sink.end();
    } catch (error) {
      if (!response.headersSent) throw error;
      report(error, call.request, response);
      sink.failWith(error);
    }
  }

  function checkOpen(): void {
    if (phase === 'draining')
      throw new RemoraError('shutting_down', 'the daemon is stopping; try again', { retryAfter_ms: 1_000 });
  }

  /** A connection that still owes an answer stays as it is: a switch cannot be put behind it. */
  function mayUpgrade(connections: Connections, request: IncomingMessage): boolean {
    if (!asksForWebSocket(request) || connections.isAnswering(request.socket)) return false;
    try {
      const { answer } = router.match(request.method ?? '', pathOf(request)).row;
      return (answer.kind === 'raw' || answer.kind === 'stream') && answer.upgrades === true;
    } catch {
      return false;
    }
  }

  function onRequest(
    connections: Connections,
    request: IncomingMessage,
    response: ServerResponse,
    door: string,
    upgrade?: Upgrade,
  ): void {
    connections.begin(request, response, () => {
      if (phase === 'draining') connections.closeIdle();
      if (phase === 'handing_over') setTimeout(() => connections.closeIdle('used'), USED_LINGER_MS);
    });
    response.on('error', ignore);
    if (phase !== 'open') response.setHeader('connection', 'close');
    serve(request, response, door, upgrade).catch((error: unknown) => {
      report(error, request, response);
      try {
        sendError(response, error);
      } catch (cause) {
        report(cause, request, response);
        sendError(response, cause);
      }
    });
  }

  /** What a caller did wrong is its own business; what went wrong in here, and what another server did, goes to the log. */
  function report(error: unknown, request: IncomingMessage, response: ServerResponse): void {
    const known = error instanceof RemoraError;
    if (known && (error.cause === undefined || errorStatus[error.code] < 500) && error.code !== 'internal') return;
    const fields = { err: error, method: request.method, path: pathOf(request) };
    const isGone = response.destroyed && !response.writableFinished;
    if (isGone && (known || isAbort(error))) options.log.debug(fields, 'the caller went away');
    else options.log.error(fields, 'a handler failed');
  }

  function each(run: (connections: Connections) => void): void {
    for (const connections of servers.values()) run(connections);
  }

  /** Nobody is accepted any more, streams end, and answers that are due are the last ones of their connections. */
  async function close(): Promise<void> {
    stopping.abort(new RemoraError(phase === 'draining' ? 'shutting_down' : 'resuming', 'the daemon is stopping'));
    const closed = [...servers.keys()].map((server) => new Promise<void>((resolve) => server.close(() => resolve())));
    each((connections) => connections.lastAnswers());
    for (const sink of sinks) sink.end();
    await Promise.all(closed);
  }

  function refuseUnanswered(connections: Connections): void {
    const message = 'the agent is being replaced after a resume, and this took too long for it; try again';
    const error = new RemoraError('resuming', message, { retryAfter_ms: 1_000 });
    for (const response of connections.unanswered()) sendError(response, error);
  }

  return {
    createServer(door) {
      const server = nodeHttp.createServer({
        maxHeaderSize: HEADER_CAP_BYTES,
        requestTimeout: 0,
        headersTimeout: HEADER_DEADLINE_MS,
        keepAliveTimeout: KEPT_CONNECTION_MS,
        requireHostHeader: false,
        shouldUpgradeCallback: (request) => mayUpgrade(connections, request),
      });
      const connections: Connections = watchConnections(server);
      const serveHere = (request: IncomingMessage, response: ServerResponse) =>
        onRequest(connections, request, response, door);
      // The parser silently drops headers beyond a count; their size is what is limited here.
      server.maxHeadersCount = 0;
      server.on('request', serveHere);
      server.on('checkContinue', serveHere);
      server.on('checkExpectation', (_request, response) => {
        sendError(response, new RemoraError('expectation_failed', 'the only expectation met here is 100-continue'));
      });
      server.on('upgrade', (request: IncomingMessage, _socket, head: Buffer) => {
        const { response, upgrade } = openUpgrade(request, head, stopping.signal);
        onRequest(connections, request, response, door, upgrade);
      });
      server.on('connect', (_request, socket) => {
        refuse(socket, new RemoraError('method_not_allowed', 'CONNECT is not served here', { details: { allow: '' } }));
      });
      server.on('clientError', (error, socket) => {
        if (connections.isAnswering(socket)) socket.destroy();
        else refuse(socket, toParseError(error));
      });
      server.on('error', (error) => options.log.error({ err: error, door }, 'a listener failed'));
      servers.set(server, connections);
      server.once('close', () => servers.delete(server));
      return server;
    },
    get streams() {
      return sinks.size;
    },
    async drain(deadline_ms) {
      phase = 'draining';
      const closed = close();
      const cut = setTimeout(() => each((connections) => connections.cut()), deadline_ms);
      await closed;
      clearTimeout(cut);
    },
    async handOver(deadline_ms, onDeadline) {
      phase = 'handing_over';
      each((connections) => connections.bePatient());
      const closed = close().then(() => 'closed' as const);
      using timers = new DisposableStack();
      const after = (ms: number, run: () => void) => timers.adopt(setTimeout(run, ms), clearTimeout);
      // Just after the kernel was asked for what has come in, so that nothing that did is thrown away.
      after(USED_LINGER_MS, () => setImmediate(() => each((connections) => connections.closeIdle('used'))));
      after(FRESH_LINGER_MS, () => setImmediate(() => each((connections) => connections.closeIdle())));
      const late = new Promise<'late'>((resolve) => after(deadline_ms, () => resolve('late')));
      if ((await Promise.race([closed, late])) === 'closed') return;
      onDeadline?.();
      after(LAST_WORD_MS, () => each(refuseUnanswered));
      after(2 * LAST_WORD_MS, () => each((connections) => connections.cut()));
      await closed;
    },
    async [Symbol.asyncDispose]() {
      await this.drain(0);
    },
  };
}

function pathOf(request: IncomingMessage): string {
  return withoutQuery(request.url ?? '');
}

/** Whoever writes hears of it through the end of its exchange; unheard, an error would end the process. */
function ignore(): void {}

function isAbort(error: unknown): boolean {
  return error instanceof Error && error.name === 'AbortError';
}
