// Why machines that were to sleep did not: what the last one was, for those who ask, and how many there were in a row, for the next try.
import { type Clock, toDateTime } from '../../core/clock.ts';

export interface Refusal {
  readonly at: string;
  readonly message: string;
}

export interface Refusals {
  /** Returns how many there were in a row, with this one. */
  add(machine_id: string, message: string): number;
  last(machine_id: string): Refusal | undefined;
  /** The machine sleeps, or is gone. */
  forget(machine_id: string): void;
}

const KEPT = 10_000;

export function createRefusals(clock: Pick<Clock, 'wall_ms'>): Refusals {
  const byMachine = new Map<string, Refusal & { readonly count: number }>();
  return {
    add(machine_id, message) {
      const count = (byMachine.get(machine_id)?.count ?? 0) + 1;
      byMachine.delete(machine_id);
      byMachine.set(machine_id, { at: toDateTime(clock.wall_ms()), message, count });
      const [oldest] = byMachine.keys();
      if (byMachine.size > KEPT && oldest !== undefined) byMachine.delete(oldest);
      return count;
    },
    last: (machine_id) => byMachine.get(machine_id),
    forget: (machine_id) => void byMachine.delete(machine_id),
  };
}
