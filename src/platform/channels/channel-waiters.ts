// Those who wait for a machine to connect.
import type { ChannelSession } from './channel-session.ts';

export class ChannelWaiters {
  readonly #waiting = new Map<string, Set<PromiseWithResolvers<ChannelSession>>>();

  /** Resolves when the machine is told of. Rejects after `limit_ms` with what `toLate` returns, and with what `fail` is given. */
  async wait(machine_id: string, limit_ms: number, toLate: () => Error): Promise<ChannelSession> {
    const waiter = Promise.withResolvers<ChannelSession>();
    const waiters = this.#waiting.get(machine_id) ?? new Set();
    this.#waiting.set(machine_id, waiters.add(waiter));
    const timer = setTimeout(() => waiter.reject(toLate()), limit_ms);
    try {
      return await waiter.promise;
    } finally {
      clearTimeout(timer);
      waiters.delete(waiter);
      if (waiters.size === 0 && this.#waiting.get(machine_id) === waiters) this.#waiting.delete(machine_id);
    }
  }

  tell(channel: ChannelSession): void {
    for (const { resolve } of this.#take(channel.machine_id)) resolve(channel);
  }

  fail(machine_id: string, error: Error): void {
    for (const { reject } of this.#take(machine_id)) reject(error);
  }

  #take(machine_id: string): Iterable<PromiseWithResolvers<ChannelSession>> {
    const waiters = this.#waiting.get(machine_id) ?? [];
    this.#waiting.delete(machine_id);
    return waiters;
  }
}
