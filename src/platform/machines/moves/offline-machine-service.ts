// The machine service of a platform that does not run: no machine can be moved.
import { RemoraError } from '../../../core/remora-error.ts';
import type { MachineService } from './machine-service.ts';

/** Every method but `carryOn` and the disposal throws `invalid_state`. */
export function createOfflineMachineService(): MachineService {
  const refuse = () => {
    const message = 'no platform serves this directory, and machines are moved by a platform that serves; start it';
    return Promise.reject(new RemoraError('invalid_state', message));
  };
  return {
    reconcile: refuse,
    carryOn: () => undefined,
    suspend: refuse,
    sleeps: { sleep: refuse, cool: refuse },
    start: refuse,
    stop: refuse,
    restart: refuse,
    discardSnapshot: refuse,
    upkeep: refuse,
    reported: refuse,
    update: refuse,
    launch: refuse,
    checkConfig: () => undefined,
    signal: refuse,
    wait: refuse,
    destroy: refuse,
    capacity: async () => ({ total_mb: null, resident_mb: 0 }),
    checkpoints: {
      list: refuse,
      read: refuse,
      make: refuse,
      restore: refuse,
      remove: refuse,
      without: refuse,
      [Symbol.asyncDispose]: () => Promise.resolve(),
    },
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}
