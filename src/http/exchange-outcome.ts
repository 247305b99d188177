// How an exchange through the streaming proxy ended.
import type { RemoraError } from '../core/remora-error.ts';

/** `complete`: all of it was sent. `cut`: ended by `signal`. In all but the first case the caller's connection is cut. */
export type ExchangeEnd = 'complete' | 'caller_gone' | 'upstream_broke' | 'cut';

export interface ExchangeOutcome {
  readonly ended: ExchangeEnd;
  /** The status of the upstream; `undefined` when the caller went away before it. */
  readonly status: number | undefined;
  readonly request_bytes: number;
  readonly response_bytes: number;
  /** Why Remora ended the exchange, where that is not the reason of `signal`. */
  readonly reason?: RemoraError;
}
