// The edge: takes requests from any listener, finds the operation, parses once, calls the handler and writes the answer. Any
// error of a handler becomes an error body, and none ends the process.

import type { IncomingMessage, Server } from 'node:http';
import type { Operations } from '../contract/operation.ts';
import type { Log } from '../core/log.ts';
import type { AnyEdgeOptions, EdgeOptions } from './edge-options.ts';
import { createEdgeServer } from './edge-server.ts';
import type { MapError } from './error-answer.ts';
import type { Exchange } from './exchange.ts';
import { createFailureLog } from './failure-log.ts';
import { watchExchange } from './finished-call.ts';
import { sendError } from './reply.ts';
import { createRouter, type Router } from './router.ts';
import { createCallServer } from './serve-call.ts';
import { type HandOverOptions, Shutdown } from './shutdown.ts';
import { listStaying, type StayingCall } from './staying-calls.ts';
import { defaultStreamLimits } from './stream-cap.ts';
import { StreamServer } from './stream-server.ts';
import { targetPath } from './target-path.ts';
import { createAnswerWriter } from './write-answer.ts';

export interface Edge<P = unknown> extends AsyncDisposable {
  /** A server whose requests come through this edge; `listener` names the listener for `authenticate`. Not yet listening. */
  createServer(listener: string): Server;
  /** How many streams are open. */
  readonly streams: number;
  /** The calls that stay open by their operation, and whose caller is known. */
  staying(): readonly StayingCall<P>[];
  /** Refuses new calls, ends streams, lets answers finish for at most `deadline_ms`, then cuts them. A second call sets a new deadline. */
  drain(deadline_ms: number): Promise<void>;
  /**
   * Stops accepting and ends streams as `drain` does, but refuses nothing: every connected caller is answered, also on a
   * request that is still on its way. Answers that have not begun at the deadline are a 503, all others are cut.
   */
  handOver(deadline_ms: number, options?: HandOverOptions): Promise<void>;
}

export function createEdge<const Ops extends Operations, P>(options: EdgeOptions<Ops, P>): Edge<P> {
  const known = options as unknown as AnyEdgeOptions;
  const { log, onCall } = known;
  const mapError = toSafe(known.mapError, log);
  const router = createRouter(known.operations);
  const streams = new StreamServer(known.streamLimits ?? defaultStreamLimits, mapError);
  const shutdown = new Shutdown(() => streams.end());
  const checkOpen = () => shutdown.checkOpen();
  const { toLoggedPath = (path: string) => path } = known;
  const report = createFailureLog({ log, mapError, toLoggedPath });
  const writeAnswer = createAnswerWriter({ ...known, streams, checkOpen, report });
  const serveCall = createCallServer({ ...known, router, checkOpen, writeAnswer });

  function fail(error: unknown, exchange: Exchange): void {
    report(error, exchange);
    try {
      sendError(exchange.response, error, mapError);
    } catch (cause) {
      report(cause, exchange);
      sendError(exchange.response, cause);
    }
  }

  return {
    createServer: (listener) =>
      createEdgeServer({
        listener,
        upgrades: (request, protocol) => mayUpgrade(router, request, protocol),
        serve(exchange, problem) {
          if (onCall !== undefined) watchExchange(exchange, onCall, log);
          try {
            if (problem !== undefined) throw problem;
            const served = serveCall(exchange);
            if (served instanceof Promise) served.catch((error: unknown) => fail(error, exchange));
          } catch (error) {
            // Not before the parser is done with what has arrived.
            queueMicrotask(() => fail(error, exchange));
          }
        },
        shutdown,
        log,
      }),
    get streams() {
      return streams.size;
    },
    staying: () => listStaying<P>(shutdown.open()),
    drain: (deadline_ms) => shutdown.drain(deadline_ms),
    handOver: (deadline_ms, how) => shutdown.handOver(deadline_ms, how),
    [Symbol.asyncDispose]: () => shutdown.drain(0),
  };
}

/** A mapping that fails must not end the process: its error counts as unknown. */
function toSafe(mapError: MapError | undefined, log: Log): MapError | undefined {
  if (mapError === undefined) return undefined;
  return (error) => {
    try {
      return mapError(error);
    } catch (cause) {
      log.error({ err: cause }, 'an error could not be mapped');
      return undefined;
    }
  };
}

/** Whether the operation of the request, if there is one, is served in this protocol. */
function mayUpgrade(router: Router, request: IncomingMessage, protocol: string): boolean {
  try {
    const { answer, upgrade } = router.match(request.method ?? '', targetPath(request), protocol).operation;
    if (upgrade === protocol) return true;
    return protocol === 'websocket' && (answer.kind === 'raw' || answer.kind === 'stream') && answer.upgrades === true;
  } catch {
    return false;
  }
}
