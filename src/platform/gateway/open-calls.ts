// The calls that go through each connector now: how many there may be, and which of them a changed policy ends.
import { RemoraError } from '../../core/remora-error.ts';

export interface OpenCall {
  /** Throws when the call would not be allowed now. */
  readonly recheck: () => void;
}

export interface OpenCalls {
  /** Throws `too_many_requests` over the cap. Dispose when the call is over; the signal's reason is why it was ended. */
  begin(connector_id: string, call: OpenCall): Disposable & { readonly signal: AbortSignal };
  /** Ends every call that does not pass its check any more, of one connector or of all. */
  recheck(connector_id?: string): void;
}

export const CALLS_PER_CONNECTOR = 512;

interface Entry extends OpenCall {
  readonly controller: AbortController;
}

export function createOpenCalls(cap = CALLS_PER_CONNECTOR): OpenCalls {
  const open = new Map<string, Set<Entry>>();
  return {
    begin(connector_id, call) {
      const calls = open.get(connector_id) ?? new Set();
      if (calls.size >= cap) {
        throw new RemoraError('too_many_requests', `${cap} calls are in flight through this connector`, {
          retryAfter_ms: 1_000,
        });
      }
      const entry: Entry = { ...call, controller: new AbortController() };
      open.set(connector_id, calls.add(entry));
      return {
        signal: entry.controller.signal,
        [Symbol.dispose]() {
          calls.delete(entry);
          if (calls.size === 0) open.delete(connector_id);
        },
      };
    },
    recheck(connector_id) {
      const calls = connector_id === undefined ? [...open.values()] : [open.get(connector_id) ?? new Set()];
      for (const entry of calls.flatMap((set) => [...set])) {
        try {
          entry.recheck();
        } catch (error) {
          entry.controller.abort(error);
        }
      }
    },
  };
}
