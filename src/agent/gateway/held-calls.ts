// The calls of the gateway that a recovery holds up, until they are answered: what nobody waits for is put off until then.
import { setTimeout as sleep } from 'node:timers/promises';

/** A call from its first byte until it is over, when it must be disposed of. */
export interface HeldCall extends Disposable {
  /** Call it when the gate has let the call through. */
  pass(): void;
}

interface Held extends HeldCall {
  hasPassed: boolean;
  over: PromiseWithResolvers<void> | undefined;
}

export class HeldCalls {
  /** Those at the gate, and those that it has let through since the last resume. */
  readonly #calls = new Set<Held>();

  begin(): HeldCall {
    const calls = this.#calls;
    const call: Held = {
      hasPassed: false,
      over: undefined,
      pass() {
        call.hasPassed = true;
      },
      [Symbol.dispose]() {
        calls.delete(call);
        call.over?.resolve();
      },
    };
    calls.add(call);
    return call;
  }

  /** What has gone out before a resume gets no answer any more. */
  forgetPassed(): void {
    for (const call of this.#calls) if (call.hasPassed) this.#calls.delete(call);
  }

  /** Resolves when the calls of this moment are over, and after `limit_ms` at the latest: an answer may be a stream without an end. */
  async answered(limit_ms: number): Promise<void> {
    if (this.#calls.size === 0) return;
    const all = [...this.#calls].map((call) => {
      call.over ??= Promise.withResolvers<void>();
      return call.over.promise;
    });
    const late = new AbortController();
    await Promise.race([Promise.all(all), sleep(limit_ms, undefined, { signal: late.signal }).catch(() => undefined)]);
    late.abort();
  }
}
