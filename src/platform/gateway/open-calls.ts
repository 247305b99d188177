// The calls in flight, by connector and by sprite. A changed policy ends those that it no longer allows.

import { inBatches } from '../../core/in-batches.ts';
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

interface Entry extends OpenCall {
  readonly signal: Cut;
  /** When the call passed its last check, in monotonic milliseconds. */
  passed_ms: number;
}

export function createOpenCalls({ grace_ms, now_ms }: OpenCallsOptions): OpenCalls {
  const open = new Set<Entry>();
  const byConnector = new KeyedSets<Entry>();
  const bySprite = new KeyedSets<Entry>();

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
      const { connector_id, sprite_id } = call;
      const entry: Entry = { ...call, signal: new Cut(), passed_ms: now_ms() };
      open.add(entry);
      byConnector.add(connector_id, entry);
      if (sprite_id !== undefined) bySprite.add(sprite_id, entry);
      return {
        signal: entry.signal,
        [Symbol.dispose]() {
          open.delete(entry);
          byConnector.delete(connector_id, entry);
          if (sprite_id !== undefined) bySprite.delete(sprite_id, entry);
        },
      };
    },
    async recheck({ connector_id, sprite_id } = {}) {
      if (connector_id !== undefined) await inBatches(byConnector.list(connector_id), check);
      else if (sprite_id !== undefined) await inBatches(bySprite.list(sprite_id), check);
      else await inBatches([...open], check);
    },
  };
}

class KeyedSets<T> {
  readonly #sets = new Map<string, Set<T>>();

  add(key: string, item: T): void {
    this.#sets.set(key, (this.#sets.get(key) ?? new Set()).add(item));
  }

  delete(key: string, item: T): void {
    const set = this.#sets.get(key);
    if (set?.delete(item) === true && set.size === 0) this.#sets.delete(key);
  }

  list(key: string): readonly T[] {
    return [...(this.#sets.get(key) ?? [])];
  }
}
