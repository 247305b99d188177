// One node:http server of an edge: every way in which a request, or something that is none, can arrive at it.
import type { IncomingMessage, Server, ServerOptions } from 'node:http';
import type { Log } from '../core/log.ts';
import { RemoraError } from '../core/remora-error.ts';
import { watchConnections } from './connections.ts';
import { dropRest } from './drop-rest.ts';
import type { Exchange } from './exchange.ts';
import { joinRequestChunks } from './join-request-chunks.ts';
import { nodeHttp } from './node-http.ts';
import { refuse, toParseError } from './refuse.ts';
import { sendError } from './reply.ts';
import type { Shutdown } from './shutdown.ts';
import { TCP_KEEP_ALIVE_MS } from './tcp-keep-alive.ts';
import { openUpgrade, toProtocol } from './upgrade.ts';

const HEADER_CAP_BYTES = 32 * 1024;
const HEADER_DEADLINE_MS = 30_000;
const KEPT_CONNECTION_MS = 65_000;

export interface EdgeServerDeps {
  readonly listener: string;
  /** Whether the operation of this request can be served in this protocol. */
  readonly upgrades: (request: IncomingMessage, protocol: string) => boolean;
  /** Answers every request; `problem` is what is wrong with the framing of this one. Never throws. */
  readonly serve: (exchange: Exchange, problem: RemoraError | undefined) => void;
  readonly shutdown: Shutdown;
  readonly log: Log;
  /** The certificate of a server that speaks TLS. */
  readonly tls?: TlsKeys | undefined;
}

/** PEM. */
export interface TlsKeys {
  readonly cert: Buffer;
  readonly key: Buffer;
}

/** A server that does not listen yet. */
export function createEdgeServer({ listener, upgrades, serve, shutdown, log, tls }: EdgeServerDeps): Server {
  const server = open(tls, {
    maxHeaderSize: HEADER_CAP_BYTES,
    requestTimeout: 0,
    headersTimeout: HEADER_DEADLINE_MS,
    keepAliveTimeout: KEPT_CONNECTION_MS,
    // A caller of a quiet stream who is gone without a word would count as there for ever, and its sprite would never sleep.
    keepAlive: true,
    keepAliveInitialDelay: TCP_KEEP_ALIVE_MS,
    requireHostHeader: false,
    // A connection that still owes an answer is not upgraded: the switch cannot follow the answer.
    shouldUpgradeCallback(request) {
      const protocol = toProtocol(request);
      return protocol !== undefined && !connections.isAnswering(request.socket) && upgrades(request, protocol);
    },
  });
  const accepted = tls === undefined ? 'connection' : 'secureConnection';
  const connections = watchConnections(server, accepted);
  const framing = joinRequestChunks(server, accepted);

  function onRequest(exchange: Exchange): void {
    const { request, response } = exchange;
    connections.begin(exchange, () => {
      dropRest(request);
      framing.onAnswered(request);
      shutdown.onAnswered(connections);
    });
    response.on('error', ignore);
    if (shutdown.hasBegun) response.setHeader('connection', 'close');
    serve(exchange, framing.check(request, response));
  }

  // The parser silently drops headers beyond a count, so that the count is unlimited and only the size of the head is
  // limited.
  server.maxHeadersCount = 0;
  server.on('request', (request, response) => onRequest({ request, response, listener, upgrade: undefined }));
  server.on('checkContinue', (request, response) => onRequest({ request, response, listener, upgrade: undefined }));
  server.on('checkExpectation', (request, response) => {
    framing.check(request, response);
    response.once('close', () => framing.onAnswered(request));
    sendError(response, new RemoraError('expectation_failed', 'the only expectation met here is 100-continue'));
  });
  server.on('upgrade', (request: IncomingMessage, _socket, head: Buffer) => {
    framing.onSwitched(request);
    const { response, upgrade, stop } = openUpgrade(request, head, shutdown.signal);
    onRequest({ request, response, listener, upgrade, cut: stop });
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
    if (server.listening) log.error({ err: error, listener }, 'a listener failed');
  });
  shutdown.add(server, connections);
  return server;
}

/** A server of node:https has what one of node:http has. */
function open(tls: TlsKeys | undefined, options: ServerOptions): Server {
  if (tls === undefined) return nodeHttp.createServer(options);
  const { createServer } = process.getBuiltinModule('node:https');
  return createServer({ ...options, ...tls, ALPNProtocols: ['http/1.1'] }) as unknown as Server;
}

/** The writer learns of the error through the end of its exchange. Without a listener the error would end the process. */
function ignore(): void {}
