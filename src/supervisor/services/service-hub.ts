// Passes the events of one service to those who follow it. Nothing is kept.
import type { ServiceLogEvent } from '../../contract/services.ts';

type Listener = (event: ServiceLogEvent) => void;

export class ServiceHub {
  readonly #listeners = new Set<Listener>();

  get isFollowed(): boolean {
    return this.#listeners.size > 0;
  }

  publish(event: ServiceLogEvent): void {
    for (const listener of this.#listeners) listener(event);
  }

  /** The result ends it. */
  follow(listener: Listener): Disposable {
    const own: Listener = (event) => listener(event);
    this.#listeners.add(own);
    return { [Symbol.dispose]: () => void this.#listeners.delete(own) };
  }
}
