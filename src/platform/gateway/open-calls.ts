// The calls in flight. A changed policy ends those that it no longer allows.
import { inBatches } from '../../core/in-batches.ts';
import { type Listed, OpenList } from '../../core/open-list.ts';
import { Cut, type CutSignal } from '../../http/cut-signal.ts';
import { StorageFailure } from '../storage/storage.ts';

export interface OpenCall {
  readonly connector_id: string;
  /** Undefined for a call of an organization. */
  readonly sprite_id: string | undefined;
  /** Throws when the call is no longer allowed. */
  readonly recheck: () => Promise<unknown>;
}

export interface OpenCalls {
  /** Dispose when the call is over; the signal's reason is why it was ended. */
  begin(call: OpenCall): Disposable & { readonly signal: CutSignal };
  /** Checks the calls of one connector or of one sprite, or all, and ends those that are no longer allowed. Never throws. */
  recheck(of?: Partial<Pick<OpenCall, 'connector_id' | 'sprite_id'>>): Promise<void>;
}

export interface OpenCallsOptions {
  /** How long a call goes on unchecked while the database cannot be asked. */
  readonly grace_ms: number;
  /** Monotonic milliseconds. */
  readonly now_ms: () => number;
}

interface Entry extends OpenCall, Listed {
  readonly signal: Cut;
  /** When the call passed its last check, in monotonic milliseconds. */
  passed_ms: number;
}

export function createOpenCalls({ grace_ms, now_ms }: OpenCallsOptions): OpenCalls {
  const open = new OpenList<Entry>();

  async function check(entry: Entry): Promise<void> {
    const asked_ms = now_ms();
    try {
      await entry.recheck();
      entry.passed_ms = Math.max(entry.passed_ms, asked_ms);
    } catch (error) {
      const isUnknown = error instanceof StorageFailure && now_ms() - entry.passed_ms < grace_ms;
      if (!isUnknown) entry.signal.cut(error);
    }
  }

  return {
    begin(call) {
      const entry: Entry = { ...call, signal: new Cut(), passed_ms: now_ms(), place: -1 };
      open.add(entry);
      return { signal: entry.signal, [Symbol.dispose]: () => void open.delete(entry) };
    },
    async recheck({ connector_id, sprite_id } = {}) {
      const isMeant = (call: OpenCall) =>
        (connector_id === undefined || call.connector_id === connector_id) &&
        (sprite_id === undefined || call.sprite_id === sprite_id);
      await inBatches(open.all().filter(isMeant), check);
    },
  };
}
