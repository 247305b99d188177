// The `process` driver: a machine is a process with everything that it starts, frozen by SIGSTOP and thawed by SIGCONT. Machines outlive
// the platform, which finds them again by their notes; with `endMachines` they end with it.
import { join } from 'node:path';
import type { Log } from '../../../../core/log.ts';
import { RemoraError } from '../../../../core/remora-error.ts';
import { openCgroup } from '../../../../linux/processes/cgroup.ts';
import { sumResidentMemory_mb } from '../../../../linux/processes/resident-memory.ts';
import { MACHINE_LOG, readLastLines } from '../last-lines.ts';
import type { DriverState, MachineDriver, MachineSpec, StopOptions } from '../machine-driver.ts';
import { signalLeader } from '../machine-process.ts';
import { toStorageFull } from '../storage-full.ts';
import { checkProcessConfig } from './check-config.ts';
import { createProcessCheckpoints } from './checkpoints/process-checkpoints.ts';
import { removeTree } from './checkpoints/remove-tree.ts';
import { countPause } from './count-pause.ts';
import { killMembers, killMembersNow } from './end-members.ts';
import { enterCgroup } from './enter-cgroup.ts';
import { findInstance, toCgroupName } from './find-instance.ts';
import { freezeMembers, thawMembers } from './freeze-members.ts';
import { isWhole, noteFrozen } from './frozen-members.ts';
import { holdStill } from './hold-still.ts';
import { createInstances, type Instance } from './instances.ts';
import { HOME, openMachineDirectory } from './machine-directory.ts';
import { readTable, selectMembers } from './machine-members.ts';
import { prepareFiles } from './prepare-files.ts';
import { listProcessNotes, writeProcessNote } from './process-note.ts';
import { createProcessVolumes } from './process-volumes.ts';
import { type SpawnOptions, spawnMachine } from './spawn-machine.ts';
import { createStartAgain } from './start-leader-again.ts';

export interface ProcessDriverOptions extends SpawnOptions {
  /** The directory in which each volume has a directory of its own. */
  readonly volumesDir: string;
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
const KILL: StopOptions = { signal: 'SIGKILL', timeout_ms: 0 };

export function createProcessDriver(options: ProcessDriverOptions): MachineDriver {
  /** Aborted at the end: found processes are no longer polled. */
  const closing = new AbortController();
  const instances = createInstances(
    closing.signal,
    createStartAgain(options, () => closed),
  );
  const booting = new Set<Promise<void>>();
  let closed = false;
  const onProcessExit = () => {
    for (const instance of instances.list()) killMembersNow(instance);
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
      await prepareFiles(spec, options);
      writeProcessNote(options.dir, id, { instance_id, cgroup: cgroup?.path });
      const spawned = await spawnMachine(spec, options, ({ pid, start_ticks }) => {
        enterCgroup(pid, cgroup);
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

  return {
    async findInstances() {
      if (options.endMachines) process.on('exit', onProcessExit);
      await checkpoints.recover();
      const notes = listProcessNotes(options.dir);
      if (notes.size === 0) return [];
      const table = await readTable();
      const finding = { dir: options.dir, instances, table, signal: closing.signal, log: options.log };
      return await Promise.all([...notes].map(([id, note]) => findInstance(id, note, finding)));
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
        await thawMembers(instance);
        throw new RemoraError('internal', 'the machine could not be frozen');
      }
      try {
        await noteFrozen(options.dir, id, instance);
      } catch (error) {
        await thawMembers(instance);
        throw toStorageFull(error);
      }
      instance.state = 'suspended';
    },
    async resume({ id }) {
      const instance = instances.get(id);
      if (instance === undefined) return { outcome: 'discarded', cause: 'lost' };
      if (instance.state === 'suspended' && !(await isWhole(options.dir, id, instance))) {
        await end(instance, KILL, options.log);
        return { outcome: 'discarded', cause: 'corrupted' };
      }
      countPause(options.dir, id, 'resumes', options.log);
      instance.state = 'running';
      await thawMembers(instance);
      return { outcome: 'resumed' };
    },
    async dropSnapshot(id) {
      const instance = instances.get(id);
      if (instance?.state === 'suspended') await end(instance, KILL, options.log);
    },
    stop: (id, stop) => end(instances.get(id), stop, options.log),
    discard: (id) => removeTree(join(options.dir, id)),
    checkpoints,
    volumes: createProcessVolumes(options.volumesDir),
    checkConfig: checkProcessConfig,
    signal: async (id, signal) => signalLeader(instanceOf(id).leader, signal),
    state(id): DriverState {
      return instances.get(id)?.state ?? 'stopped';
    },
    capacity: async () => ({ total_mb: null, resident_mb: await readResident_mb(instances.list()) }),
    lastLines: (id) => readLastLines(join(options.dir, id, MACHINE_LOG)),
    onExit: instances.onExit,
    async [Symbol.asyncDispose]() {
      closed = true;
      await Promise.allSettled(booting);
      if (options.endMachines) {
        const stop = { signal: 'SIGTERM', timeout_ms: options.shutdown_ms ?? SHUTDOWN_MS } as const;
        await Promise.all(instances.list().map((instance) => end(instance, stop, options.log)));
      }
      closing.abort();
      process.off('exit', onProcessExit);
    },
  };
}

async function readResident_mb(running: readonly Instance[]): Promise<number> {
  const table = running.length === 0 ? [] : await readTable();
  const pids = new Set(running.flatMap((instance) => selectMembers(instance, table).map(({ pid }) => pid)));
  return await sumResidentMemory_mb(pids);
}

/** A frozen leader handles the signal as soon as it goes on. */
async function end(
  instance: Instance | undefined,
  { signal, timeout_ms }: StopOptions,
  log: Pick<Log, 'error'>,
): Promise<void> {
  if (instance === undefined) return;
  instance.ending = signal;
  signalLeader(instance.leader, signal);
  await thawMembers(instance);
  const onLate = () => {
    killMembers(instance).catch((err: unknown) => log.error({ err }, 'processes of a machine are not killed'));
  };
  const timer = setTimeout(onLate, timeout_ms);
  await instance.over;
  clearTimeout(timer);
}
