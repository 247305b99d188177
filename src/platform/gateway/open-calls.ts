// The calls that go through each connector now, and which of them a changed policy ends.

export interface OpenCall {
  /** Throws when the call would not be allowed now. */
  readonly recheck: () => void;
}

export interface OpenCalls {
  /** Dispose when the call is over; the signal's reason is why it was ended. */
  begin(connector_id: string, call: OpenCall): Disposable & { readonly signal: AbortSignal };
  /** Ends every call that does not pass its check any more, of one connector or of all. */
  recheck(connector_id?: string): void;
}

interface Entry extends OpenCall {
  readonly controller: AbortController;
}

export function createOpenCalls(): OpenCalls {
  const open = new Map<string, Set<Entry>>();
  return {
    begin(connector_id, call) {
      const calls = open.get(connector_id) ?? new Set();
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
