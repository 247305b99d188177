// The machines that run or are suspended on this host: each emulator is watched until it ends.
import { rmSync } from 'node:fs';
import type { InstanceEnd } from '../machine-driver.ts';
import type { EmulatorSession } from './emulator/emulator-session.ts';
import type { MachineFiles } from './machine-files.ts';
import { type MachineNote, writeNote } from './machine-note.ts';

export interface NewInstance extends EmulatorSession {
  readonly files: MachineFiles;
  readonly note: MachineNote;
  /** The way from the machine to the platform. */
  readonly way: Disposable;
}

export interface Instance extends NewInstance {
  /** Set when its snapshot counts: the end of the emulator is then no end of the machine. */
  isSaved: boolean;
  hasEnded: boolean;
  /** Resolves after the listeners of the exit have run. */
  readonly over: Promise<void>;
}

export type ExitListener = (id: string, exit: InstanceEnd) => Promise<void>;

export interface Instances {
  get(machine_id: string): Instance | undefined;
  list(): readonly (readonly [string, Instance])[];
  begin(machine_id: string, instance: NewInstance): Instance;
  /** The note of a suspended machine; undefined for any other. */
  suspended(machine_id: string): MachineNote | undefined;
  addSuspended(machine_id: string, note: MachineNote): void;
  /** The machine runs again, or its snapshot is gone. */
  removeSuspended(machine_id: string): void;
  onExit(listener: ExitListener): void;
  /** Runs the listeners for a machine whose snapshot was thrown away. */
  tellEnd(machine_id: string): Promise<void>;
}

export interface InstancesOptions {
  /** An end after it is aborted is left to the next platform. */
  readonly signal: AbortSignal;
  /** Runs when a machine has no memory any more. */
  readonly onReleased: (machine_id: string) => void;
}

const UNSEEN: InstanceEnd = { exit_code: null, signal: null };

export function createInstances({ signal, onReleased }: InstancesOptions): Instances {
  const running = new Map<string, Instance>();
  const suspended = new Map<string, MachineNote>();
  const listeners: ExitListener[] = [];

  async function notify(machine_id: string, end: InstanceEnd): Promise<void> {
    for (const listener of listeners) await listener(machine_id, end);
  }

  async function watch(machine_id: string, instance: Instance): Promise<void> {
    const { note, files, qmp, way } = instance;
    const reason = toReason(instance);
    const end = await instance.process.ended;
    if (signal.aborted) return;
    instance.hasEnded = true;
    qmp[Symbol.dispose]();
    way[Symbol.dispose]();
    running.delete(machine_id);
    if (instance.isSaved) {
      suspended.set(machine_id, note);
      return;
    }
    for (const path of [files.memory, files.state, files.manifest]) rmSync(path, { force: true });
    writeNote(files.dir, { ...note, pid: undefined, start_ticks: undefined, phase: 'over' });
    onReleased(machine_id);
    await notify(machine_id, toInstanceEnd(end, reason()));
  }

  return {
    get: (machine_id) => running.get(machine_id),
    list: () => [...running],
    begin(machine_id, begun) {
      const { promise: over, resolve, reject } = Promise.withResolvers<void>();
      // A caller of `stop` gets this error; without such a caller nobody awaits the promise.
      over.catch(() => undefined);
      const instance: Instance = { ...begun, isSaved: false, hasEnded: false, over };
      suspended.delete(machine_id);
      running.set(machine_id, instance);
      watch(machine_id, instance).then(resolve, reject);
      return instance;
    },
    suspended: (machine_id) => suspended.get(machine_id),
    addSuspended: (machine_id, note) => void suspended.set(machine_id, note),
    removeSuspended: (machine_id) => void suspended.delete(machine_id),
    onExit: (listener) => void listeners.push(listener),
    tellEnd: (machine_id) => notify(machine_id, UNSEEN),
  };
}

/** Why the emulator says that the machine ends; undefined when it was killed. */
function toReason({ qmp }: Instance): () => unknown {
  let reason: unknown;
  qmp.onEvent(({ event, data }) => {
    if (event === 'SHUTDOWN') reason = data.reason;
  });
  return () => reason;
}

/** A machine that powers itself off has ended well. One that restarts itself, as a kernel does after a panic, has not: it is to be started again. */
export function toInstanceEnd(end: InstanceEnd, reason: unknown): InstanceEnd {
  if (reason === 'guest-shutdown') return { exit_code: 0, signal: null };
  if (reason === 'guest-reset' || reason === 'guest-panic') return { exit_code: 1, signal: null };
  return end;
}
