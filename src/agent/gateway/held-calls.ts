// The calls of the gateway that a recovery holds up, until they are answered: what nobody waits for is put off until then.
import { setTimeout as sleep } from 'node:timers/promises';
import { type Listed, OpenList } from '../../core/open-list.ts';

/** A call from its first byte until it has left its record, when it must be disposed of. */
export class HeldCall implements Disposable, Listed {
  place = -1;
  readonly #onOver: (call: HeldCall) => void;
  #hasPassed = false;
  #over: PromiseWithResolvers<void> | undefined;

  constructor(onOver: (call: HeldCall) => void) {
    this.#onOver = onOver;
  }

  /** Call it when the gate has let the call through. */
  pass(): void {
    this.#hasPassed = true;
  }

  get hasPassed(): boolean {
    return this.#hasPassed;
  }

  /** Resolves when it is over. */
  get over(): Promise<void> {
    this.#over ??= Promise.withResolvers<void>();
    return this.#over.promise;
  }

  [Symbol.dispose](): void {
    this.#onOver(this);
    this.#over?.resolve();
  }
}

export class HeldCalls {
  /** Those at the gate, and those that it has let through since the last resume. */
  readonly #calls = new OpenList<HeldCall>();
  #unrecorded = 0;

  begin(): HeldCall {
    const call = new HeldCall(this.#onOver);
    this.#calls.add(call);
    this.#unrecorded += 1;
    return call;
  }

  readonly #onOver = (call: HeldCall): void => {
    this.#calls.delete(call);
    this.#unrecorded -= 1;
  };

  /** How many calls have left no record yet. A resume forgets none of them. */
  get unrecorded(): number {
    return this.#unrecorded;
  }

  /** What has gone out before a resume gets no answer any more. */
  forgetPassed(): void {
    for (const call of this.#calls.all()) if (call.hasPassed) this.#calls.delete(call);
  }

  /** Resolves when the calls of this moment are over, and after `limit_ms` at the latest: an answer may be a stream without an end. */
  async answered(limit_ms: number): Promise<void> {
    if (this.#calls.size === 0) return;
    const all = this.#calls.all().map(({ over }) => over);
    const late = new AbortController();
    await Promise.race([Promise.all(all), sleep(limit_ms, undefined, { signal: late.signal }).catch(() => undefined)]);
    late.abort();
  }
}
