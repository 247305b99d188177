// Machines that are to be started again after they ended, each after a delay that grows while the machine keeps ending early.
import { type Backoff, createBackoff } from '../../../core/backoff.ts';
import type { Clock } from '../../../core/clock.ts';
import { HEALTHY_AFTER_MS } from '../records/judge-restart.ts';

export interface RestartsOptions {
  readonly clock: Clock;
  /** A number in [0, 1), from urandom. */
  readonly random: () => number;
  /** Never rejects. */
  readonly boot: (id: string) => Promise<void>;
}

export interface Restarts extends Disposable {
  /** Call it when an instance begins. */
  began(id: string): void;
  /** Starts the machine again after its delay. Does nothing while it waits already. */
  schedule(id: string): void;
  /** Whether the machine waits to be started again. */
  isPending(id: string): boolean;
  /** Cancels the restart. */
  cancel(id: string): void;
}

interface Machine {
  readonly backoff: Backoff;
  began_mono_ms: number | undefined;
  timer: NodeJS.Timeout | undefined;
}

export function createRestarts({ clock, random, boot }: RestartsOptions): Restarts {
  const machines = new Map<string, Machine>();

  function machineOf(id: string): Machine {
    const machine = machines.get(id) ?? {
      backoff: createBackoff({ random }),
      began_mono_ms: undefined,
      timer: undefined,
    };
    machines.set(id, machine);
    return machine;
  }

  return {
    began(id) {
      machineOf(id).began_mono_ms = clock.mono_ms();
    },
    schedule(id) {
      const machine = machineOf(id);
      if (machine.timer !== undefined) return;
      const ran_ms = machine.began_mono_ms === undefined ? 0 : clock.mono_ms() - machine.began_mono_ms;
      if (ran_ms >= HEALTHY_AFTER_MS) machine.backoff.reset();
      machine.began_mono_ms = undefined;
      machine.timer = setTimeout(() => {
        machine.timer = undefined;
        void boot(id);
      }, machine.backoff.next());
    },
    isPending: (id) => machines.get(id)?.timer !== undefined,
    cancel(id) {
      clearTimeout(machines.get(id)?.timer);
      machines.delete(id);
    },
    [Symbol.dispose]() {
      for (const { timer } of machines.values()) clearTimeout(timer);
      machines.clear();
    },
  };
}
