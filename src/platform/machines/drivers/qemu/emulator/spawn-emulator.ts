// Starts an emulator in the directory of its machine. It holds no pipe to the platform, so that it can outlive it.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, constants, openSync } from 'node:fs';
import { RemoraError } from '../../../../../core/remora-error.ts';
import { type ProcessIdentity, readIdentity } from '../../../../../linux/processes/process-identity.ts';
import { signalProcess } from '../../../../../linux/processes/signal-process.ts';
import type { InstanceEnd } from '../../machine-driver.ts';
import type { MachineProcess } from '../../machine-process.ts';
import { toStorageFull } from '../../storage-full.ts';
import { type MachineFiles, PORT_SOCKET, QMP_SOCKET } from '../machine-files.ts';
import { openInheritedListener } from './inherited-listener.ts';
import { toLaunchLine } from './launch-line.ts';

/** The variable of an emulator's environment with the id of its instance. */
export const INSTANCE_MARK = 'REMORA_EMULATOR_OF';

/** It appends, so that the log can be cut meanwhile. */
const LOG_FLAGS = constants.O_WRONLY | constants.O_CREAT | constants.O_TRUNC | constants.O_APPEND;

export interface EmulatorSpawn {
  readonly files: MachineFiles;
  readonly emulator: string;
  readonly args: readonly string[];
  readonly uid: number | undefined;
  /** See `Launch`. */
  readonly egressRules?: string | undefined;
  /** Marks the process, so that it is found when the platform ends before `onSpawned` is over. */
  readonly instance_id: string;
  /** The file that an incoming state is read from. */
  readonly state?: string;
  /** Runs right after the spawn. When it throws, the process is killed: no later platform would find it. */
  readonly onSpawned: (identity: ProcessIdentity) => void;
}

/** Resolves when the process runs; whether it becomes the emulator is seen at its control socket. Throws `storage_full` and `internal`. */
export async function spawnEmulator(options: EmulatorSpawn): Promise<MachineProcess> {
  const { files, state } = options;
  await using control = await openInheritedListener(files.dir, QMP_SOCKET);
  await using port = await openInheritedListener(files.dir, PORT_SOCKET);
  const opened: number[] = [];
  const open = (path: string, flags: number, mode = 0) => {
    const descriptor = openSync(path, flags | constants.O_NOFOLLOW, mode);
    opened.push(descriptor);
    return descriptor;
  };
  try {
    const log = open(files.emulatorLog, LOG_FLAGS, 0o600);
    const incoming = state === undefined ? [] : [open(state, constants.O_RDONLY)];
    const { command, args } = toLaunchLine(options);
    const child = spawn(command, args, {
      cwd: files.dir,
      detached: true,
      stdio: ['ignore', log, log, control.descriptor, port.descriptor, ...incoming],
      // Nothing of the platform's environment, which may hold keys.
      env: { PATH: process.env.PATH ?? '/usr/sbin:/usr/bin:/sbin:/bin', [INSTANCE_MARK]: options.instance_id },
    });
    child.unref();
    const ended = new Promise<InstanceEnd>((resolve) => {
      child.once('exit', (exit_code, signal) => resolve({ exit_code, signal }));
    });
    const identity = child.pid === undefined ? undefined : readIdentity(child.pid);
    const spawned = once(child, 'spawn');
    if (identity !== undefined) tellOrEnd(identity, options.onSpawned);
    await spawned;
    child.on('error', () => undefined);
    if (identity === undefined) throw new Error('the child has no pid');
    return { ...identity, ended };
  } catch (cause) {
    const full = toStorageFull(cause);
    if (full !== cause) throw full;
    throw new RemoraError('internal', 'the emulator of the machine could not be started', { cause });
  } finally {
    for (const descriptor of opened) closeSync(descriptor);
  }
}

function tellOrEnd(identity: ProcessIdentity, onSpawned: (identity: ProcessIdentity) => void): void {
  try {
    onSpawned(identity);
  } catch (error) {
    signalProcess(identity.pid, 'SIGKILL');
    throw error;
  }
}
