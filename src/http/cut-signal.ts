// What ends an exchange from outside: a reason, and who is told of it. An exchange asks for no more of an AbortSignal, and an
// AbortController for each call of a gateway would cost a sixth of what the call costs.

/** The part of an AbortSignal that an exchange uses. */
export interface CutSignal {
  readonly aborted: boolean;
  readonly reason: unknown;
  addEventListener(type: 'abort', listener: () => void): void;
  removeEventListener(type: 'abort', listener: () => void): void;
}

type Listener = () => void;

const nobody: readonly Listener[] = [];

/** Somebody who holds it can cut what listens to it, once. */
export class Cut implements CutSignal {
  aborted = false;
  reason: unknown;
  #listeners = nobody;

  addEventListener(_type: 'abort', listener: Listener): void {
    if (this.#listeners.includes(listener)) return;
    this.#listeners = this.#listeners.length === 0 ? [listener] : [...this.#listeners, listener];
  }

  removeEventListener(_type: 'abort', listener: Listener): void {
    if (this.#listeners.includes(listener)) this.#listeners = this.#listeners.filter((other) => other !== listener);
  }

  /** Tells the listeners, in the order in which they came, before it returns. No effect when it was cut before. */
  cut(reason: unknown): void {
    if (this.aborted) return;
    this.aborted = true;
    this.reason = reason;
    const listeners = this.#listeners;
    this.#listeners = nobody;
    for (const listener of listeners) listener();
  }
}
