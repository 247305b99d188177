// The instances that run under this platform, started or found by it: each is watched until nothing of it runs.
import type { ProcessIdentity } from '../../../../linux/processes/process-identity.ts';
import type { InstanceEnd } from '../machine-driver.ts';
import type { MachineProcess } from '../machine-process.ts';
import { endMembers } from './end-members.ts';
import type { InstanceIdentity } from './machine-members.ts';
import { readEnvironment } from './start-again.ts';

export interface Instance extends InstanceIdentity {
  /** Another one after the agent has ended to be started again. */
  leader: ProcessIdentity;
  state: 'running' | 'suspended';
  /** The signal with which it is being ended. */
  ending?: NodeJS.Signals;
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

/** Starts the process of an instance again whose former one ended with `exit`; undefined when that was its end. */
export type StartAgain = (
  machine_id: string,
  instance: Instance,
  ended: { readonly exit: InstanceEnd; readonly env: NodeJS.ProcessEnv },
) => Promise<MachineProcess | undefined>;

/** An end after `signal` is aborted is left to the next platform. */
export function createInstances(signal: AbortSignal, startAgain: StartAgain): Instances {
  const instances = new Map<string, Instance>();
  const listeners: ExitListener[] = [];

  async function watch(machine_id: string, instance: Instance, first: MachineProcess): Promise<void> {
    let exit: InstanceEnd = { exit_code: null, signal: null };
    for (let leader: MachineProcess | undefined = first; leader !== undefined; ) {
      // What it was started with can be read only while it runs.
      const env = readEnvironment(leader.pid) ?? {};
      exit = await leader.ended;
      if (signal.aborted) return;
      leader = await startAgain(machine_id, instance, { exit, env });
    }
    // The group is removed with the last process.
    const kills = instance.cgroup?.oomKills();
    await endMembers(instance);
    instances.delete(machine_id);
    const end = kills === undefined ? exit : { ...exit, oom_killed: kills > 0 };
    for (const listener of listeners) await listener(machine_id, end);
  }

  return {
    get: (machine_id) => instances.get(machine_id),
    list: () => [...instances.values()],
    begin(machine_id, instance) {
      const { promise: over, resolve, reject } = Promise.withResolvers<void>();
      // A caller of `stop` gets this error; without such a caller nobody awaits the promise.
      over.catch(() => undefined);
      const begun: Instance = { ...instance, over };
      instances.set(machine_id, begun);
      watch(machine_id, begun, instance.leader).then(resolve, reject);
    },
    onExit(listener) {
      listeners.push(listener);
    },
  };
}
