// The calls in flight through each connector. A changed policy ends those that it no longer allows.
import { StorageFailure } from '../storage/storage.ts';
import { inBatches } from './in-batches.ts';

export interface OpenCall {
  /** Throws when the call is no longer allowed. */
  readonly recheck: () => Promise<unknown>;
}

export interface OpenCalls {
  /** Dispose when the call is over; the signal's reason is why it was ended. */
  begin(connector_id: string, call: OpenCall): Disposable & { readonly signal: AbortSignal };
  /** Checks the calls of one connector, or all, and ends those that are no longer allowed. Never throws. */
  recheck(connector_id?: string): Promise<void>;
}

export interface OpenCallsOptions {
  /** How long a call goes on unchecked while the database cannot be asked. */
  readonly grace_ms: number;
  /** Monotonic milliseconds. */
  readonly now_ms: () => number;
}

interface Entry extends OpenCall {
  readonly controller: AbortController;
  /** When the call passed its last check, in monotonic milliseconds. */
  passed_ms: number;
}

export function createOpenCalls({ grace_ms, now_ms }: OpenCallsOptions): OpenCalls {
  const open = new Map<string, Set<Entry>>();

  async function check(entry: Entry): Promise<void> {
    const asked_ms = now_ms();
    try {
      await entry.recheck();
      entry.passed_ms = Math.max(entry.passed_ms, asked_ms);
    } catch (error) {
      const isUnknown = error instanceof StorageFailure && now_ms() - entry.passed_ms < grace_ms;
      if (!isUnknown) entry.controller.abort(error);
    }
  }

  return {
    begin(connector_id, call) {
      const calls = open.get(connector_id) ?? new Set();
      const entry: Entry = { ...call, controller: new AbortController(), passed_ms: now_ms() };
      open.set(connector_id, calls.add(entry));
      return {
        signal: entry.controller.signal,
        [Symbol.dispose]() {
          calls.delete(entry);
          if (calls.size === 0 && open.get(connector_id) === calls) open.delete(connector_id);
        },
      };
    },
    async recheck(connector_id) {
      const calls = connector_id === undefined ? [...open.values()] : [open.get(connector_id) ?? new Set()];
      const entries = calls.flatMap((set) => [...set]);
      await inBatches(entries, check);
    },
  };
}
