// The `process` driver: a machine is a child process with its process group, frozen by SIGSTOP and thawed by SIGCONT. Everything
// ends with the platform; what a killed platform left behind is ended when the next one starts.
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { RemoraError } from '../../core/remora-error.ts';
import type { DriverState, LifeEnd, MachineDriver, MachineSpec, StopOptions } from './driver.ts';
import { killFoundGroups, killGroup, signalGroup, until } from './process-group.ts';
import { clearProcessNote, findLeftovers, writeProcessNote } from './process-note.ts';
import { type ProcessStat, readGroup, readProcess } from './process-table.ts';
import { type SpawnedProcess, type SpawnOptions, spawnMachine } from './spawn-machine.ts';

export interface ProcessDriverOptions extends SpawnOptions {
  /** How long a group may take to stand still. */
  readonly freezeDeadline_ms?: number;
  /** How long a machine may take to end by itself when the platform ends. */
  readonly shutdown_ms?: number;
}

interface Life {
  readonly process: SpawnedProcess;
  state: 'running' | 'suspended';
  /** Resolves after the listeners have heard of the exit. */
  readonly over: Promise<void>;
}

const FREEZE_DEADLINE_MS = 2_000;
const SHUTDOWN_MS = 5_000;
/** What the rest of a group has after its leader is gone. */
const REST_MS = 1_000;
/** A killed process that is still there after this hangs in the kernel. */
const KILL_DEADLINE_MS = 10_000;

export function createProcessDriver(options: ProcessDriverOptions): MachineDriver {
  const lives = new Map<string, Life>();
  const booting = new Set<Promise<void>>();
  const listeners: ((id: string, exit: LifeEnd) => Promise<void>)[] = [];
  let closed = false;
  /** The last line of defence: when this process ends in any way that still runs code, no machine is left. */
  const onProcessExit = () => {
    for (const life of lives.values()) signalGroup(life.process.pid, 'SIGKILL');
  };

  function lifeOf(id: string): Life {
    const life = lives.get(id);
    if (life === undefined) throw new RemoraError('invalid_state', 'the machine does not run');
    return life;
  }

  async function spawnLife(spec: MachineSpec): Promise<void> {
    writeProcessNote(options.dir, spec.id, { instance_id: spec.instance_id });
    const spawned = await spawnMachine(spec, options);
    lives.set(spec.id, { process: spawned, state: 'running', over: watch(spec.id, spawned) });
    const start_ticks = readProcess(spawned.pid)?.start_ticks;
    writeProcessNote(options.dir, spec.id, { instance_id: spec.instance_id, pid: spawned.pid, start_ticks });
  }

  async function watch(id: string, spawned: SpawnedProcess): Promise<void> {
    const exit = await spawned.exited;
    await endRest(spawned.pid);
    lives.delete(id);
    clearProcessNote(options.dir, id);
    for (const listener of listeners) await listener(id, exit);
  }

  return {
    async recover() {
      process.on('exit', onProcessExit);
      const leftovers = findLeftovers(options.dir);
      await Promise.all(leftovers.map(({ groups }) => killFoundGroups(groups, KILL_DEADLINE_MS)));
      for (const { id } of leftovers) clearProcessNote(options.dir, id);
    },
    async start(spec) {
      if (closed) throw new RemoraError('shutting_down', 'the platform is stopping');
      if (lives.has(spec.id)) throw new RemoraError('invalid_state', 'the machine runs already');
      const boot = spawnLife(spec);
      booting.add(boot);
      await boot.finally(() => booting.delete(boot));
    },
    async suspend(id) {
      const life = lifeOf(id);
      const { pid } = life.process;
      const deadline_ms = options.freezeDeadline_ms ?? FREEZE_DEADLINE_MS;
      const frozen = await until(deadline_ms, () => {
        signalGroup(pid, 'SIGSTOP');
        return isFrozen(readGroup(pid));
      });
      if (!frozen || !lives.has(id)) {
        signalGroup(pid, 'SIGCONT');
        throw new RemoraError('internal', 'the machine could not be frozen');
      }
      life.state = 'suspended';
    },
    async resume(id) {
      const life = lifeOf(id);
      signalGroup(life.process.pid, 'SIGCONT');
      life.state = 'running';
    },
    async stop(id, stop: StopOptions) {
      const life = lives.get(id);
      if (life !== undefined) await end(life, stop);
    },
    discard: (id) => rm(join(options.dir, id), { recursive: true, force: true }),
    state(id): DriverState {
      return lives.get(id)?.state ?? 'stopped';
    },
    onExit(listener) {
      listeners.push(listener);
    },
    async [Symbol.asyncDispose]() {
      closed = true;
      await Promise.allSettled(booting);
      const stop = { signal: 'SIGTERM', timeout_ms: options.shutdown_ms ?? SHUTDOWN_MS } as const;
      await Promise.all([...lives.values()].map((life) => end(life, stop)));
      process.off('exit', onProcessExit);
    },
  };
}

/** The signal waits at the leader while it is frozen and is handled as soon as the group goes on. */
async function end(life: Life, { signal, timeout_ms }: StopOptions): Promise<void> {
  life.process.kill(signal);
  signalGroup(life.process.pid, 'SIGCONT');
  const timer = setTimeout(() => signalGroup(life.process.pid, 'SIGKILL'), timeout_ms);
  await life.over;
  clearTimeout(timer);
}

/** A machine is off when its leader is gone: the others are asked to end, then made to. */
async function endRest(group: number): Promise<void> {
  signalGroup(group, 'SIGTERM');
  signalGroup(group, 'SIGCONT');
  if (await until(REST_MS, () => readGroup(group).length === 0)) return;
  await killGroup(group, KILL_DEADLINE_MS);
}

function isFrozen(members: readonly ProcessStat[]): boolean {
  return members.length > 0 && members.every((member) => member.state === 'T' || member.state === 't');
}
