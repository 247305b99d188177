// The edge: takes requests from any listener, finds the operation, parses once, calls the handler and writes the answer. Any
// error of a handler becomes an error body, and none ends the process.
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Operation, Operations } from '../contract/operation.ts';
import { RemoraError } from '../core/remora-error.ts';
import { withoutQuery } from '../core/without-query.ts';
import { acceptsStreamOnly } from './accepts-event-stream.ts';
import { toCall } from './call.ts';
import { checkRequest } from './check-request.ts';
import { type Connections, watchConnections } from './connections.ts';
import { dropRest } from './drop-rest.ts';
import { type EdgeLog, writeFailure } from './failure-log.ts';
import { type Call, type Handlers, Reply } from './handler.ts';
import { type CheckFraming, joinRequests } from './join-requests.ts';
import type { LoopWatch } from './loop-watch.ts';
import { nodeHttp } from './node-http.ts';
import { refuse, toParseError } from './refuse.ts';
import { sendError, sendJson } from './reply.ts';
import { createRouter } from './router.ts';
import { defaultStreamLimits, type StreamLimits } from './stream-cap.ts';
import { StreamServer } from './stream-server.ts';
import { asksForWebSocket, openUpgrade, type Upgrade } from './upgrade.ts';

const HEADER_CAP_BYTES = 32 * 1024;
const HEADER_DEADLINE_MS = 30_000;
const KEPT_CONNECTION_MS = 65_000;
/** How long a connection may take to bring a request that was on its way when the listeners were handed over. */
const USED_LINGER_MS = 100;
const FRESH_LINGER_MS = 500;
/** The pause between two harsher steps once a deadline is over. */
const LAST_WORD_MS = 50;

export interface EdgeOptions<Ops extends Operations, P> {
  readonly operations: Ops;
  readonly handlers: Handlers<Ops, P>;
  /** Throws `unauthorized` or `forbidden`; its result is `call.principal`. */
  readonly authenticate: (request: IncomingMessage, operation: Operation, listener: string) => P | Promise<P>;
  /** When the signal aborts, the streams that this caller reads end with its reason. */
  readonly until?: (principal: P) => AbortSignal | undefined;
  /** Equal for the calls of one caller of a listener; undefined when its callers cannot be distinguished. */
  readonly callerOf?: (principal: P) => unknown;
  /** How many event streams may be open at once. */
  readonly streamLimits?: StreamLimits;
  /** Learns which operation runs. */
  readonly loop?: Pick<LoopWatch, 'enter'> | undefined;
  readonly log: EdgeLog;
  /** Checks every JSON answer against its operation, for tests: an answer that does not fit is a 500. */
  readonly checkAnswers?: boolean;
}

export interface Edge extends AsyncDisposable {
  /** A server whose requests come through this edge; `listener` names the listener for `authenticate`. Not yet listening. */
  createServer(listener: string): Server;
  /** How many streams are open. */
  readonly streams: number;
  /** Refuses new calls, ends streams, lets answers finish for at most `deadline_ms`, then cuts. Again: a new deadline. */
  drain(deadline_ms: number): Promise<void>;
  /**
   * Stops accepting and ends streams as `drain` does, but refuses nothing: every connected caller is answered, also on a
   * request that is still on its way. At the deadline `onDeadline` may end what the answers wait for. Answers that have not
   * begun even then are a 503 `resuming`, all others are cut.
   */
  handOver(deadline_ms: number, onDeadline?: () => void): Promise<void>;
}

type AnyHandler = (call: Call<Operation, unknown>, out?: unknown) => unknown;

export function createEdge<const Ops extends Operations, P>(options: EdgeOptions<Ops, P>): Edge {
  const router = createRouter(options.operations);
  const handlers = options.handlers as unknown as Readonly<Record<string, AnyHandler>>;
  const servers = new Map<Server, Connections>();
  const streams = new StreamServer(options.streamLimits ?? defaultStreamLimits);
  let phase: 'open' | 'handing_over' | 'draining' = 'open';

  const stopping = new AbortController();

  async function serve(
    request: IncomingMessage,
    response: ServerResponse,
    listener: string,
    check: CheckFraming,
    upgrade?: Upgrade,
  ): Promise<void> {
    const problem = check(request, response);
    if (problem !== undefined) throw problem;
    checkRequest(request);
    checkOpen();
    const { id, operation, params } = router.match(request.method ?? '', pathOf(request));
    options.loop?.enter(id);
    if (operation.noStore === true) response.setHeader('cache-control', 'no-store');
    const given = options.authenticate(request, operation, listener);
    const principal = given instanceof Promise ? await given : given;
    const handler = handlers[id];
    if (handler === undefined) throw new Error(`operation ${id} has no handler`);
    const made = toCall({
      request,
      response,
      operation,
      params,
      principal,
      upgrade,
      onTurn: () => options.loop?.enter(id),
    });
    const call = made instanceof Promise ? await made : made;
    switch (operation.answer.kind) {
      case 'raw':
        await handler(call, response);
        return;
      case 'stream': {
        checkOpen();
        const { answer } = operation;
        const caller = options.callerOf?.(principal);
        const until = options.until?.(principal);
        const onError = (error: unknown) => logFailure(error, request, response);
        await streams.serve({ call, response, answer, listener, caller, until, handler, report: onError });
        return;
      }
      case 'json': {
        if (acceptsStreamOnly(request.headers.accept)) {
          throw new RemoraError(
            'not_acceptable',
            'there is no stream here: this is one JSON value; ask for application/json',
          );
        }
        const value = await handler(call);
        if (response.writableEnded) return;
        options.loop?.enter(id);
        const reply = value instanceof Reply ? value : new Reply(operation.answer.status, value);
        if (options.checkAnswers) operation.answer.schema.parse(reply.body);
        sendJson(response, reply.status, reply.body, reply.headers);
        return;
      }
      case 'empty':
        await handler(call);
        response.writeHead(operation.answer.status).end();
        return;
      case 'text': {
        const text = String(await handler(call));
        response.writeHead(operation.answer.status, { 'content-type': operation.answer.type }).end(text);
        return;
      }
      default:
        operation.answer satisfies never;
    }
  }

  function checkOpen(): void {
    if (phase === 'draining')
      throw new RemoraError('shutting_down', 'the daemon is stopping; try again', { retryAfter_ms: 1_000 });
  }

  /** A connection that still owes an answer is not upgraded: the switch cannot follow the answer. */
  function mayUpgrade(connections: Connections, request: IncomingMessage): boolean {
    if (!asksForWebSocket(request) || connections.isAnswering(request.socket)) return false;
    try {
      const { answer } = router.match(request.method ?? '', pathOf(request)).operation;
      return (answer.kind === 'raw' || answer.kind === 'stream') && answer.upgrades === true;
    } catch {
      return false;
    }
  }

  function onRequest(
    connections: Connections,
    request: IncomingMessage,
    response: ServerResponse,
    listener: string,
    check: CheckFraming,
    upgrade?: Upgrade,
  ): void {
    connections.begin(request, response, () => {
      dropRest(request);
      if (phase === 'draining') connections.closeIdle();
      if (phase === 'handing_over') setTimeout(() => connections.closeIdle('used'), USED_LINGER_MS);
    });
    response.on('error', ignore);
    if (phase !== 'open') response.setHeader('connection', 'close');
    serve(request, response, listener, check, upgrade).catch((error: unknown) => {
      logFailure(error, request, response);
      try {
        sendError(response, error);
      } catch (cause) {
        logFailure(cause, request, response);
        sendError(response, cause);
      }
    });
  }

  function logFailure(error: unknown, request: IncomingMessage, response: ServerResponse): void {
    writeFailure(options.log, error, request, response);
  }

  function each(run: (connections: Connections) => void): void {
    for (const connections of servers.values()) run(connections);
  }

  /** No connection is accepted any more, streams end, and each answer that is due is the last one of its connection. */
  async function close(): Promise<void> {
    stopping.abort(new RemoraError(phase === 'draining' ? 'shutting_down' : 'resuming', 'the daemon is stopping'));
    const closed = [...servers.keys()].map((server) => new Promise<void>((resolve) => server.close(() => resolve())));
    each((connections) => connections.lastAnswers());
    streams.end();
    await Promise.all(closed);
  }

  function refuseUnanswered(connections: Connections): void {
    const message = 'the agent is being replaced after a resume, and this took too long for it; try again';
    const error = new RemoraError('resuming', message, { retryAfter_ms: 1_000 });
    for (const response of connections.unanswered()) sendError(response, error);
  }

  return {
    createServer(listener) {
      const server = nodeHttp.createServer({
        maxHeaderSize: HEADER_CAP_BYTES,
        requestTimeout: 0,
        headersTimeout: HEADER_DEADLINE_MS,
        keepAliveTimeout: KEPT_CONNECTION_MS,
        requireHostHeader: false,
        shouldUpgradeCallback: (request) => mayUpgrade(connections, request),
      });
      const connections: Connections = watchConnections(server);
      const check = joinRequests(server);
      const serveHere = (request: IncomingMessage, response: ServerResponse) =>
        onRequest(connections, request, response, listener, check);
      // The parser silently drops headers beyond a count, so that the count is unlimited and only the size of the head is
      // limited.
      server.maxHeadersCount = 0;
      server.on('request', serveHere);
      server.on('checkContinue', serveHere);
      server.on('checkExpectation', (request, response) => {
        check(request, response);
        sendError(response, new RemoraError('expectation_failed', 'the only expectation met here is 100-continue'));
      });
      server.on('upgrade', (request: IncomingMessage, _socket, head: Buffer) => {
        const { response, upgrade } = openUpgrade(request, head, stopping.signal);
        onRequest(connections, request, response, listener, check, upgrade);
      });
      server.on('connect', (_request, socket) => {
        refuse(socket, new RemoraError('method_not_allowed', 'CONNECT is not served here', { details: { allow: '' } }));
      });
      server.on('clientError', (error, socket) => {
        if (connections.isAnswering(socket)) socket.destroy();
        else refuse(socket, toParseError(error));
      });
      server.on('error', (error) => {
        // An error before the server listens reaches the caller of `listen`.
        if (server.listening) options.log.error({ err: error, listener }, 'a listener failed');
      });
      servers.set(server, connections);
      server.once('close', () => servers.delete(server));
      return server;
    },
    get streams() {
      return streams.size;
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
      // Runs just after the kernel was asked for new bytes, so that no request that has arrived is dropped.
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

/** The writer learns of the error through the end of its exchange. Without a listener the error would end the process. */
function ignore(): void {}
