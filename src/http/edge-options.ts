// What an application gives to its edge: the operations, who answers them, and who may ask.
import type { IncomingMessage } from 'node:http';
import type { Operation, Operations } from '../contract/operation.ts';
import type { Log } from '../core/log.ts';
import type { MapError } from './error-answer.ts';
import type { OnCall } from './finished-call.ts';
import type { Call, EdgeHandlers } from './handler.ts';
import type { LoopWatch } from './loop-watch.ts';
import type { PassOn } from './pass-on.ts';
import type { StreamLimits } from './stream-cap.ts';

export interface EdgeOptions<Ops extends Operations, P> {
  readonly operations: Ops;
  readonly handlers: EdgeHandlers<Ops, P>;
  /** Throws `unauthorized` or `forbidden`; its result is `call.principal`. */
  readonly authenticate: (request: IncomingMessage, operation: Operation, listener: string) => P | Promise<P>;
  /**
   * How errors of the application become answers; without it each error but RemoraError is a 500. One with a status of 500 or
   * more goes to the log as well.
   */
  readonly mapError?: MapError;
  /** Runs once for each call that is over, whatever became of it. */
  readonly onCall?: OnCall<P>;
  /** When the signal aborts, the streams that this caller reads end with its reason. */
  readonly until?: (principal: P) => AbortSignal | undefined;
  /** Equal for the calls of one caller of a listener; undefined when its callers cannot be distinguished. */
  readonly callerOf?: (principal: P) => unknown;
  /** How many event streams may be open at once. */
  readonly streamLimits?: StreamLimits;
  /** How long a body that is parsed as a whole may take to arrive; 30 s when absent. */
  readonly bodyDeadline_ms?: number;
  /** Learns which operation runs, each time that it begins or goes on. */
  readonly loop?: Pick<LoopWatch, 'enter'> | undefined;
  readonly log: Log;
  /** The path of a failed request as the log may hold it: a path may carry a credential. As it is when absent. */
  readonly toLoggedPath?: (path: string) => string;
  /** Checks every JSON answer against its operation, for tests: an answer that does not fit is a 500. */
  readonly checkAnswers?: boolean;
}

export type AnyHandler = (call: Call<Operation, unknown>, out?: unknown) => unknown;

/** The options as the parts of the edge use them, which do not know the types of single operations. */
export type AnyEdgeOptions = Omit<EdgeOptions<Operations, unknown>, 'handlers'> & {
  readonly handlers: Readonly<Record<string, AnyHandler | PassOn<unknown>>>;
};
