// The `process` driver: a machine is a process with everything that it starts, frozen by SIGSTOP and thawed by SIGCONT. Machines outlive
// the platform, which finds them again by their notes; with `endMachines` they end with it.
import { join } from 'node:path';
import type { Log } from '../../../../core/log.ts';
import { RemoraError } from '../../../../core/remora-error.ts';
import { readBootId } from '../../../../linux/boot-id.ts';
import { type Cgroup, findCgroup, openCgroup } from '../../../../linux/processes/cgroup.ts';
import { isAlive, type ProcessIdentity } from '../../../../linux/processes/process-identity.ts';
import type { MarkedProcess } from '../../../../linux/processes/process-table.ts';
import { MACHINE_LOG, readLastLines } from '../last-lines.ts';
import type { DriverState, FoundInstance, MachineDriver, MachineSpec, StopOptions } from '../machine-driver.ts';
import { followProcess, signalLeader } from '../machine-process.ts';
import { createProcessCheckpoints } from './checkpoints/process-checkpoints.ts';
import { removeTree } from './checkpoints/remove-tree.ts';
import { endMembers, killMembers } from './end-members.ts';
import { freezeMembers, thawMembers } from './freeze-members.ts';
import { holdStill } from './hold-still.ts';
import { createInstances, type Instance } from './instances.ts';
import { HOME, openMachineDirectory } from './machine-directory.ts';
import { areStopped, readMembers, readTable } from './machine-members.ts';
import { listProcessNotes, type ProcessNote, writeProcessNote } from './process-note.ts';
import { type SpawnOptions, spawnMachine } from './spawn-machine.ts';

export interface ProcessDriverOptions extends SpawnOptions {
  /** End the machines when the platform exits. They stay when it is killed, because no code of it runs then. */
  readonly endMachines: boolean;
  /** How long it may take until all processes of a machine are stopped. */
  readonly freezeDeadline_ms?: number;
  /** How long a machine may take to end after SIGTERM when the platform ends it. */
  readonly shutdown_ms?: number;
  readonly log: Pick<Log, 'debug' | 'error'>;
}

const FREEZE_DEADLINE_MS = 2_000;
const SHUTDOWN_MS = 5_000;

export function createProcessDriver(options: ProcessDriverOptions): MachineDriver {
  /** Aborted at the end: found processes are no longer polled. */
  const closing = new AbortController();
  const instances = createInstances(closing.signal);
  const booting = new Set<Promise<void>>();
  let closed = false;
  const onProcessExit = () => {
    for (const instance of instances.list()) killMembers(instance);
  };

  function instanceOf(id: string): Instance {
    const instance = instances.get(id);
    if (instance === undefined) throw new RemoraError('invalid_state', 'the machine does not run');
    return instance;
  }

  async function spawnInstance(spec: MachineSpec): Promise<void> {
    const { id, instance_id } = spec;
    await checkpoints.finish(id);
    const cgroup = openCgroup(toCgroupName(instance_id));
    try {
      openMachineDirectory(options.dir, id);
      writeProcessNote(options.dir, id, { instance_id, cgroup: cgroup?.path });
      const spawned = await spawnMachine(spec, options, ({ pid, start_ticks }) => {
        // A process that the agent starts before this move is not in the group; its environment shows that it belongs to the machine.
        cgroup?.add(pid);
        writeProcessNote(options.dir, id, { instance_id, pid, start_ticks, cgroup: cgroup?.path });
      });
      instances.begin(id, { instance_id, leader: spawned, cgroup, state: 'running' });
    } catch (error) {
      cgroup?.remove();
      throw error;
    }
  }

  const freeze = (instance: Instance) => freezeMembers(instance, options.freezeDeadline_ms ?? FREEZE_DEADLINE_MS);

  const checkpoints = createProcessCheckpoints({
    dir: options.dir,
    openDirectory: (id) => openMachineDirectory(options.dir, id),
    home: HOME,
    isRunning: (id) => instances.get(id)?.state === 'running',
    holdStill: (id) => holdStill(id, { dir: options.dir, instance: instances.get(id), freeze, log: options.log }),
    log: options.log,
  });

  /** Finds the instance of a note. Takes over a running one; of one that has ended, ends the processes that are left. */
  async function find(id: string, note: ProcessNote, table: readonly MarkedProcess[]): Promise<FoundInstance> {
    const { instance_id } = note;
    const boot = readBootId();
    if (boot === undefined || note.boot_id !== boot) return { id, instance_id, state: 'lost' };
    const leader = toLeader(note, table);
    const cgroup = toCgroup(note);
    if (leader === undefined || !isAlive(leader)) {
      await endMembers({ instance_id, leader, cgroup });
      return { id, instance_id, state: 'over' };
    }
    // A platform that was killed while it froze the machine may have left the group held.
    cgroup?.hold(false);
    const isHeld = note.isHeld === true;
    if (isHeld) thawMembers({ instance_id, leader, cgroup });
    writeProcessNote(options.dir, id, { instance_id, ...leader, cgroup: cgroup?.path });
    const isStopped = !isHeld && areStopped(readMembers({ instance_id, leader, cgroup }, table));
    const state = isStopped ? 'suspended' : 'running';
    instances.begin(id, { instance_id, leader: followProcess(leader, closing.signal), cgroup, state });
    return { id, instance_id, state };
  }

  return {
    async findInstances() {
      if (options.endMachines) process.on('exit', onProcessExit);
      await checkpoints.recover();
      const notes = listProcessNotes(options.dir);
      if (notes.size === 0) return [];
      const table = readTable();
      return await Promise.all([...notes].map(([id, note]) => find(id, note, table)));
    },
    async start(spec) {
      if (closed) throw new RemoraError('shutting_down', 'the platform is stopping');
      if (instances.get(spec.id) !== undefined) throw new RemoraError('invalid_state', 'the machine runs already');
      const boot = spawnInstance(spec);
      booting.add(boot);
      await boot.finally(() => booting.delete(boot));
    },
    async suspend(id) {
      const instance = instanceOf(id);
      if (!(await freeze(instance)) || instances.get(id) !== instance) {
        thawMembers(instance);
        throw new RemoraError('internal', 'the machine could not be frozen');
      }
      instance.state = 'suspended';
    },
    async resume(id) {
      const instance = instanceOf(id);
      thawMembers(instance);
      instance.state = 'running';
    },
    async stop(id, stop: StopOptions) {
      const instance = instances.get(id);
      if (instance !== undefined) await end(instance, stop);
    },
    discard: (id) => removeTree(join(options.dir, id)),
    checkpoints,
    state(id): DriverState {
      return instances.get(id)?.state ?? 'stopped';
    },
    lastLines: (id) => readLastLines(join(options.dir, id, MACHINE_LOG)),
    onExit: instances.onExit,
    async [Symbol.asyncDispose]() {
      closed = true;
      await Promise.allSettled(booting);
      if (options.endMachines) {
        const stop = { signal: 'SIGTERM', timeout_ms: options.shutdown_ms ?? SHUTDOWN_MS } as const;
        await Promise.all(instances.list().map((instance) => end(instance, stop)));
      }
      closing.abort();
      process.off('exit', onProcessExit);
    },
  };
}

/** A frozen leader handles the signal as soon as it goes on. */
async function end(instance: Instance, { signal, timeout_ms }: StopOptions): Promise<void> {
  signalLeader(instance.leader, signal);
  thawMembers(instance);
  const timer = setTimeout(() => killMembers(instance), timeout_ms);
  await instance.over;
  clearTimeout(timer);
}

/** A note without a pid means that the platform was killed during the spawn: the leader is then the first marked process that leads a group. */
function toLeader(note: ProcessNote, table: readonly MarkedProcess[]): ProcessIdentity | undefined {
  const { pid, start_ticks, instance_id } = note;
  if (pid !== undefined && start_ticks !== undefined) return { pid, start_ticks };
  const leaders = table.filter((each) => each.mark === instance_id && each.pid === each.group);
  const first = leaders.toSorted((a, b) => a.start_ticks - b.start_ticks || a.pid - b.pid)[0];
  return first === undefined ? undefined : { pid: first.pid, start_ticks: first.start_ticks };
}

function toCgroup({ cgroup, instance_id }: ProcessNote): Cgroup | undefined {
  return cgroup === undefined ? undefined : findCgroup(cgroup, toCgroupName(instance_id));
}

function toCgroupName(instance_id: string): string {
  return `remora-${instance_id}`;
}
