// The `qemu` driver: a machine is a virtual machine with a kernel, a disk over an image, and its memory in a file. Suspended, it is files
// alone; the emulators of the others outlive the platform, which finds them again by their notes.
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { RemoraError } from '../../../../core/remora-error.ts';
import { readMarkedProcesses } from '../../../../linux/processes/process-table.ts';
import { sumResidentMemory_mb } from '../../../../linux/processes/resident-memory.ts';
import { MACHINE_LOG, readLastLines } from '../last-lines.ts';
import type { MachineDriver, MachineSpec, Resumption, StopOptions } from '../machine-driver.ts';
import { bootMachine } from './boot-machine.ts';
import { checkQemuConfig } from './check-config.ts';
import { removeHostRules } from './egress/egress-link.ts';
import { INSTANCE_MARK } from './emulator/spawn-emulator.ts';
import { chooseUser } from './emulator-users.ts';
import { findMachine } from './find-machine.ts';
import { createInstances, type Instance, type Instances } from './instances.ts';
import type { MachineFiles } from './machine-files.ts';
import { listNotes } from './machine-note.ts';
import { toPrivateNetworks } from './private-networks.ts';
import { createQemuCheckpoints } from './qemu-checkpoints.ts';
import { createQemuHost, type QemuDriverOptions } from './qemu-host.ts';
import { createQemuVolumes } from './qemu-volumes.ts';
import { createReservations } from './reservations.ts';
import { dropSnapshot, resumeMachine } from './resume-machine.ts';
import { stopEmulator } from './stop-emulator.ts';
import { suspendMachine } from './suspend-machine.ts';
import { watchDisk } from './watch-disk.ts';
import { watchLogs } from './watch-logs.ts';

const LINES = 20;
const NO_SIGNALS = 'a virtual machine takes no signal from outside; stop it, or run kill in it';
const SHUTDOWN: StopOptions = { signal: 'SIGTERM', timeout_ms: 5_000 };

export function createQemuDriver(options: QemuDriverOptions): MachineDriver {
  const host = createQemuHost(options);
  const closing = new AbortController();
  const reservations = createReservations(options.hostMemory_mb);
  const instances = createInstances({ signal: closing.signal, onReleased: reservations.release });
  const logs = watchLogs(host, instances);
  const users = new Map<string, number>();
  const underWay = new Set<Promise<unknown>>();

  function runningOf(id: string): Instance {
    const instance = instances.get(id);
    if (instance === undefined) throw new RemoraError('invalid_state', 'the machine does not run');
    return instance;
  }

  function userOf(id: string): number | undefined {
    if (!host.isRoot) return undefined;
    const uid = users.get(id) ?? chooseUser(new Set(users.values()));
    users.set(id, uid);
    return uid;
  }

  async function boot(spec: MachineSpec): Promise<void> {
    if (closing.signal.aborted) throw new RemoraError('shutting_down', 'the platform is stopping');
    if (instances.get(spec.id) !== undefined) throw new RemoraError('invalid_state', 'the machine runs already');
    checkQemuConfig(spec.config, options);
    reservations.reserve(spec.id, spec.memory_mb);
    try {
      watchDisk(host, spec.id, instances.begin(spec.id, await bootMachine(host, spec, userOf(spec.id))));
    } catch (error) {
      reservations.release(spec.id);
      throw error;
    }
  }

  async function resume(spec: MachineSpec): Promise<Resumption> {
    const { id } = spec;
    if (instances.get(id) !== undefined) return { outcome: 'resumed' };
    const note = instances.suspended(id);
    if (note === undefined) return { outcome: 'discarded', cause: 'lost' };
    // The host may have less memory than when the machine was found.
    reservations.reserve(id, spec.memory_mb);
    const resumed = await resumeMachine(host, spec, note);
    if (typeof resumed !== 'string') {
      watchDisk(host, id, instances.begin(id, resumed));
      return { outcome: 'resumed' };
    }
    await drop(id);
    return { outcome: 'discarded', cause: resumed };
  }

  /** Undefined for a machine that is not suspended. */
  async function drop(id: string): Promise<true | undefined> {
    const note = instances.suspended(id);
    if (note === undefined) return undefined;
    await dropSnapshot(host.filesOf(id), note);
    instances.removeSuspended(id);
    reservations.release(id);
    return true;
  }

  async function track<T>(step: Promise<T>): Promise<T> {
    underWay.add(step);
    return await step.finally(() => underWay.delete(step));
  }

  return {
    async findInstances() {
      const notes = [...listNotes(options.dir)];
      for (const [id, { uid }] of notes) if (uid !== undefined) users.set(id, uid);
      const finding = { host, instances, table: await readMarkedProcesses(INSTANCE_MARK), signal: closing.signal };
      const found = await Promise.all(notes.map(([id, note]) => findMachine(id, note, finding)));
      for (const [id, { plan }] of notes) {
        const instance = instances.get(id);
        if (instance !== undefined) watchDisk(host, id, instance);
        if (instance !== undefined || instances.suspended(id) !== undefined) reservations.take(id, plan.memory_mb);
      }
      return found;
    },
    start: (spec) => track(boot(spec)),
    suspend: (id) => track(suspendMachine(host, id, runningOf(id))),
    resume: (spec) => track(resume(spec)),
    async dropSnapshot(id) {
      if (await drop(id)) await instances.tellEnd(id);
    },
    async stop(id, stop) {
      const instance = instances.get(id);
      if (instance !== undefined) await stopEmulator(instance, stop, host.stepOf(id));
      else if (await drop(id)) await instances.tellEnd(id);
    },
    async discard(id) {
      await rm(host.filesOf(id).dir, { recursive: true, force: true });
      reservations.release(id);
      users.delete(id);
    },
    checkpoints: createQemuCheckpoints(host, instances),
    volumes: createQemuVolumes(options.volumesDir),
    checkConfig: (config) => checkQemuConfig(config, options),
    async signal(id) {
      runningOf(id);
      throw new RemoraError('unsupported_by_driver', NO_SIGNALS);
    },
    state: (id) => (instances.get(id) !== undefined ? 'running' : instances.suspended(id) ? 'suspended' : 'stopped'),
    capacity: async () => ({
      total_mb: options.hostMemory_mb,
      resident_mb: await sumResidentMemory_mb(instances.list().map(([, instance]) => instance.process.pid)),
    }),
    ...toPrivateNetworks(options, instances),
    lastLines: (id) => readLogs(host.filesOf(id)),
    onExit: instances.onExit,
    async [Symbol.asyncDispose]() {
      const ending = options.endMachines ? instances.list() : [];
      await Promise.allSettled(underWay);
      await Promise.all(ending.map(([id, instance]) => stopEmulator(instance, SHUTDOWN, host.stepOf(id))));
      closing.abort();
      logs[Symbol.dispose]();
      await letGo(options, instances);
    },
  };
}

/** What the machine has printed since its boot; what its emulator says comes last, because it ends after that. */
function readLogs({ dir, emulatorLog }: MachineFiles): readonly string[] {
  return [...readLastLines(join(dir, MACHINE_LOG)), ...readLastLines(emulatorLog)].slice(-LINES);
}

/** The machines run on, and so do the rules of their ways out. */
async function letGo(
  { dir, network }: Pick<QemuDriverOptions, 'dir' | 'network'>,
  instances: Pick<Instances, 'list'>,
): Promise<void> {
  for (const [, { qmp, way }] of instances.list()) {
    qmp[Symbol.dispose]();
    way[Symbol.dispose]();
  }
  const hasEgress = instances.list().some(([, { note }]) => note.plan.network === 'egress');
  if (network === 'egress' && !hasEgress) await removeHostRules(dir);
}
