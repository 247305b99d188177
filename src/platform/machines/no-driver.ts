// The driver of a platform that was given nothing to run machines with: every machine is stopped and stays so.
import { RemoraError } from '../../core/remora-error.ts';
import type { MachineDriver } from './driver.ts';

export function createNoDriver(): MachineDriver {
  const refuse = () =>
    Promise.reject(
      new RemoraError('not_configured', 'this platform was started without a command to run machines with'),
    );
  return {
    recover: () => Promise.resolve([]),
    start: refuse,
    suspend: refuse,
    resume: refuse,
    stop: () => Promise.resolve(),
    state: () => 'stopped',
    onExit: () => undefined,
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}
