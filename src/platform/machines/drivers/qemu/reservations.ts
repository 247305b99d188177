// The memory of this host that its machines have, suspended ones included (Suspend and Replication, What the service does, 4): it is never
// promised twice.
import { RemoraError } from '../../../../core/remora-error.ts';

export interface Reservations {
  /** Throws `insufficient_memory` with what is free. A machine that has memory already gets the new amount in its place. */
  reserve(id: string, memory_mb: number): void;
  /** Call it for a machine that was found: it has the memory, whatever is free. */
  take(id: string, memory_mb: number): void;
  release(id: string): void;
  readonly reserved_mb: number;
  readonly total_mb: number;
}

export function createReservations(total_mb: number): Reservations {
  const reserved = new Map<string, number>();
  const sum = () => [...reserved.values()].reduce((all, each) => all + each, 0);
  return {
    reserve(id, memory_mb) {
      const free_mb = Math.max(0, total_mb - sum() + (reserved.get(id) ?? 0));
      if (memory_mb > free_mb) throw toError(memory_mb, free_mb, total_mb);
      reserved.set(id, memory_mb);
    },
    take: (id, memory_mb) => void reserved.set(id, memory_mb),
    release: (id) => void reserved.delete(id),
    get reserved_mb() {
      return sum();
    },
    total_mb,
  };
}

function toError(memory_mb: number, free_mb: number, total_mb: number): RemoraError {
  const message =
    `the machine needs ${memory_mb} MB, and this host has ${free_mb} MB of its ${total_mb} MB free; ` +
    'stop or delete a machine, suspended ones count too, or give this one less';
  return new RemoraError('insufficient_memory', message, { details: { memory_mb, free_mb, total_mb } });
}
