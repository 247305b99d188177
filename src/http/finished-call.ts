// What is known of a call that is over, for access logs and metrics.
import type { Operation } from '../contract/operation.ts';
import type { Log } from '../core/log.ts';
import type { Exchange } from './exchange.ts';

export interface FinishedCall<P> {
  readonly listener: string;
  readonly method: string;
  /** The operation and its id; undefined when none was found, or the request could not be read. */
  readonly operation: Operation | undefined;
  readonly operation_id: string | undefined;
  /** Undefined when the call ended before its caller was known. */
  readonly principal: P | undefined;
  readonly status: number;
  /** The time from the arrival to the last byte. */
  readonly ms: number;
  /** False when the answer was broken off. A WebSocket is complete however it ends. */
  readonly complete: boolean;
}

export type OnCall<P> = (call: FinishedCall<P>) => void;

const SWITCHED = 101;

/** Calls `onCall` once, when the exchange is over. What it throws goes to the log. */
export function watchExchange(exchange: Exchange, onCall: OnCall<unknown>, log: Log): void {
  const started_ms = performance.now();
  const { request, response, listener } = exchange;
  response.once('close', () => {
    const { match, principal } = exchange;
    const status = response.statusCode;
    try {
      onCall({
        listener,
        method: request.method ?? '',
        operation: match?.operation,
        operation_id: match?.id,
        principal,
        status,
        ms: performance.now() - started_ms,
        complete: response.writableFinished || status === SWITCHED,
      });
    } catch (error) {
      log.error({ err: error }, 'a call could not be recorded');
    }
  });
}
