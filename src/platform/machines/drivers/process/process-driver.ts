// The `process` driver: a machine is a process group, frozen by SIGSTOP and thawed by SIGCONT. Machines outlive the platform, which
// finds them again by their notes; with `endMachines` they end with it.
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { RemoraError } from '../../../../core/remora-error.ts';
import {
  findByEnvironment,
  type ProcessStat,
  readBootId,
  readGroup,
} from '../../../../linux/processes/process-table.ts';
import type {
  DriverState,
  FoundInstance,
  InstanceEnd,
  MachineDriver,
  MachineSpec,
  StopOptions,
} from '../machine-driver.ts';
import { endFoundGroups, endRest, until } from './end-group.ts';
import { readLastLines } from './last-lines.ts';
import { followProcess, isAlive, type MachineProcess, signalGroup, signalLeader } from './machine-process.ts';
import { INSTANCE_VARIABLE, listProcessNotes, type ProcessNote, writeProcessNote } from './process-record.ts';
import { MACHINE_LOG, type SpawnOptions, spawnMachine } from './spawn-machine.ts';

export interface ProcessDriverOptions extends SpawnOptions {
  /** End the machines when the platform exits. They stay when it is killed, because no code of it runs then. */
  readonly endMachines: boolean;
  /** How long a group may take until all its processes are stopped. */
  readonly freezeDeadline_ms?: number;
  /** How long a machine may take to end after SIGTERM when the platform ends it. */
  readonly shutdown_ms?: number;
}

interface Instance {
  readonly instance_id: string;
  readonly process: MachineProcess;
  state: 'running' | 'suspended';
  /** Resolves after the listeners of the exit have run. */
  readonly over: Promise<void>;
}

const FREEZE_DEADLINE_MS = 2_000;
const SHUTDOWN_MS = 5_000;

export function createProcessDriver(options: ProcessDriverOptions): MachineDriver {
  const instances = new Map<string, Instance>();
  const booting = new Set<Promise<void>>();
  const listeners: ((id: string, exit: InstanceEnd) => Promise<void>)[] = [];
  /** Aborted at the end: found processes are no longer polled. */
  const closing = new AbortController();
  let closed = false;
  const onProcessExit = () => {
    for (const instance of instances.values()) signalGroup(instance.process, 'SIGKILL');
  };

  function instanceOf(id: string): Instance {
    const instance = instances.get(id);
    if (instance === undefined) throw new RemoraError('invalid_state', 'the machine does not run');
    return instance;
  }

  async function spawnInstance(spec: MachineSpec): Promise<void> {
    const { id, instance_id } = spec;
    writeProcessNote(options.dir, id, { instance_id });
    const spawned = await spawnMachine(spec, options, ({ pid, start_ticks }) => {
      writeProcessNote(options.dir, id, { instance_id, pid, start_ticks });
    });
    begin(id, instance_id, spawned, 'running');
  }

  function begin(id: string, instance_id: string, process: MachineProcess, state: Instance['state']): void {
    const over = watch(id, instance_id, process);
    // A caller of `stop` gets this error; without such a caller nobody awaits the promise.
    over.catch(() => undefined);
    instances.set(id, { instance_id, process, state, over });
  }

  async function watch(id: string, instance_id: string, process: MachineProcess): Promise<void> {
    const exit = await process.ended;
    // The next platform finds what ends from now on.
    if (closing.signal.aborted) return;
    await endRest(process);
    await endFoundGroups(toGroups(findByEnvironment(INSTANCE_VARIABLE).get(instance_id)));
    instances.delete(id);
    for (const listener of listeners) await listener(id, exit);
  }

  /** Finds the instance of a note. A running one is taken over; the rest of one that has ended is ended. */
  async function find(id: string, note: ProcessNote, marked: readonly ProcessStat[]): Promise<FoundInstance> {
    const { instance_id } = note;
    if (note.boot_id !== readBootId()) return { id, instance_id, state: 'lost' };
    const leader = toLeader(note, marked);
    if (leader === undefined || !isAlive(leader)) {
      if (leader !== undefined) await endRest(leader);
      await endFoundGroups(toGroups(marked));
      return { id, instance_id, state: 'over' };
    }
    writeProcessNote(options.dir, id, { instance_id, ...leader });
    const state = isFrozen(readGroup(leader.pid)) ? 'suspended' : 'running';
    begin(id, instance_id, followProcess(leader, closing.signal), state);
    return { id, instance_id, state };
  }

  return {
    async recover() {
      if (options.endMachines) process.on('exit', onProcessExit);
      const notes = listProcessNotes(options.dir);
      if (notes.size === 0) return [];
      const marked = findByEnvironment(INSTANCE_VARIABLE);
      return await Promise.all([...notes].map(([id, note]) => find(id, note, marked.get(note.instance_id) ?? [])));
    },
    async start(spec) {
      if (closed) throw new RemoraError('shutting_down', 'the platform is stopping');
      if (instances.has(spec.id)) throw new RemoraError('invalid_state', 'the machine runs already');
      const boot = spawnInstance(spec);
      booting.add(boot);
      await boot.finally(() => booting.delete(boot));
    },
    async suspend(id) {
      const instance = instanceOf(id);
      const deadline_ms = options.freezeDeadline_ms ?? FREEZE_DEADLINE_MS;
      const frozen = await until(deadline_ms, () => {
        signalGroup(instance.process, 'SIGSTOP');
        return isFrozen(readGroup(instance.process.pid));
      });
      if (!frozen || !instances.has(id)) {
        signalGroup(instance.process, 'SIGCONT');
        throw new RemoraError('internal', 'the machine could not be frozen');
      }
      instance.state = 'suspended';
    },
    async resume(id) {
      const instance = instanceOf(id);
      signalGroup(instance.process, 'SIGCONT');
      instance.state = 'running';
    },
    async stop(id, stop: StopOptions) {
      const instance = instances.get(id);
      if (instance !== undefined) await end(instance, stop);
    },
    discard: (id) => rm(join(options.dir, id), { recursive: true, force: true }),
    state(id): DriverState {
      return instances.get(id)?.state ?? 'stopped';
    },
    lastLines: (id) => readLastLines(join(options.dir, id, MACHINE_LOG)),
    onExit(listener) {
      listeners.push(listener);
    },
    async [Symbol.asyncDispose]() {
      closed = true;
      await Promise.allSettled(booting);
      if (options.endMachines) {
        const stop = { signal: 'SIGTERM', timeout_ms: options.shutdown_ms ?? SHUTDOWN_MS } as const;
        await Promise.all([...instances.values()].map((instance) => end(instance, stop)));
      }
      closing.abort();
      process.off('exit', onProcessExit);
    },
  };
}

/** A frozen leader handles the signal as soon as its group goes on. */
async function end(instance: Instance, { signal, timeout_ms }: StopOptions): Promise<void> {
  signalLeader(instance.process, signal);
  signalGroup(instance.process, 'SIGCONT');
  const timer = setTimeout(() => signalGroup(instance.process, 'SIGKILL'), timeout_ms);
  await instance.over;
  clearTimeout(timer);
}

/** A note without a pid means that the platform was killed during the spawn: the leader is then the first marked process that leads a group. */
function toLeader(note: ProcessNote, marked: readonly ProcessStat[]) {
  const { pid, start_ticks } = note;
  if (pid !== undefined && start_ticks !== undefined) return { pid, start_ticks };
  const leaders = marked.filter((each) => each.pid === each.group);
  const first = leaders.toSorted((a, b) => a.start_ticks - b.start_ticks || a.pid - b.pid)[0];
  return first === undefined ? undefined : { pid: first.pid, start_ticks: first.start_ticks };
}

function toGroups(members: readonly ProcessStat[] = []): readonly number[] {
  return [...new Set(members.map((member) => member.group))];
}

function isFrozen(members: readonly ProcessStat[]): boolean {
  return members.length > 0 && members.every((member) => member.state === 'T' || member.state === 't');
}
