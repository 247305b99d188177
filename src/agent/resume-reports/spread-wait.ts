// Holds back what the agent sends of its own accord after a resume, until this machine's time in the spread has come. Calls of
// local programs do not wait here.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Clock } from '../../core/clock.ts';
import { clampSpread, toReconnectDelay } from '../../core/resume/reconnect-spread.ts';

/** Keeps the spread that the platform asked for across restarts. */
export interface SpreadStore {
  load(): number;
  save(spread_ms: number): void;
}

export interface SpreadWait extends Disposable {
  /** The spread of the next resume. */
  readonly spread_ms: number;
  /** Sets the spread that the platform asked for. */
  set(spread_ms: number): void;
  /** Begins the wait of a resume. Each generation draws a time of its own. */
  begin(generation: number): void;
  readonly isWaiting: boolean;
  /** Resolves when the time has come, when `signal` is aborted, and at the end of the agent. */
  wait(signal?: AbortSignal): Promise<void>;
}

export function createSpreadWait(clock: Clock, machine: string, store: SpreadStore): SpreadWait {
  let spread_ms = clampSpread(store.load());
  const ended = new AbortController();
  let due_mono_ms = Number.NEGATIVE_INFINITY;
  const left_ms = () => due_mono_ms - clock.mono_ms();
  return {
    get spread_ms() {
      return spread_ms;
    },
    set(asked_ms) {
      const next_ms = clampSpread(asked_ms);
      if (next_ms === spread_ms) return;
      spread_ms = next_ms;
      store.save(next_ms);
    },
    begin(generation) {
      due_mono_ms =
        spread_ms > 0 ? clock.mono_ms() + toReconnectDelay(machine, generation, spread_ms) : Number.NEGATIVE_INFINITY;
    },
    get isWaiting() {
      return left_ms() > 0;
    },
    async wait(given) {
      if (left_ms() <= 0) return;
      const signal = given === undefined ? ended.signal : AbortSignal.any([given, ended.signal]);
      while (!signal.aborted && left_ms() > 0) {
        await sleep(Math.ceil(left_ms()), undefined, { signal }).catch(() => undefined);
      }
    },
    [Symbol.dispose]() {
      ended.abort();
    },
  };
}
