// The instances that run under this platform, started or found by it: each is watched until nothing of it runs.
import type { ProcessIdentity } from '../../../../linux/processes/process-identity.ts';
import type { InstanceEnd } from '../machine-driver.ts';
import type { MachineProcess } from '../machine-process.ts';
import { endMembers } from './end-members.ts';
import type { InstanceIdentity } from './machine-members.ts';

export interface Instance extends InstanceIdentity {
  readonly leader: ProcessIdentity;
  state: 'running' | 'suspended';
  /** Resolves after the listeners of the exit have run. */
  readonly over: Promise<void>;
}

export type NewInstance = Omit<Instance, 'over' | 'leader'> & { readonly leader: MachineProcess };

export type ExitListener = (id: string, exit: InstanceEnd) => Promise<void>;

export interface Instances {
  get(machine_id: string): Instance | undefined;
  list(): readonly Instance[];
  /** Watches an instance, and ends what is left of it once its leader has ended. */
  begin(machine_id: string, instance: NewInstance): void;
  onExit(listener: ExitListener): void;
}

/** An end after `signal` is aborted is left to the next platform. */
export function createInstances(signal: AbortSignal): Instances {
  const instances = new Map<string, Instance>();
  const listeners: ExitListener[] = [];

  async function watch(machine_id: string, instance: NewInstance): Promise<void> {
    const exit = await instance.leader.ended;
    if (signal.aborted) return;
    await endMembers(instance);
    instances.delete(machine_id);
    for (const listener of listeners) await listener(machine_id, exit);
  }

  return {
    get: (machine_id) => instances.get(machine_id),
    list: () => [...instances.values()],
    begin(machine_id, instance) {
      const over = watch(machine_id, instance);
      // A caller of `stop` gets this error; without such a caller nobody awaits the promise.
      over.catch(() => undefined);
      instances.set(machine_id, { ...instance, over });
    },
    onExit(listener) {
      listeners.push(listener);
    },
  };
}
