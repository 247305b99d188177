// What the parts of the driver share: where the files of machines are, and what this host may do.

import { join } from 'node:path';
import type { Log } from '../../../../core/log.ts';
import type { Secret } from '../../../../core/secret.ts';
import { MachineFiles } from './machine-files.ts';
import { runTool } from './run-tool.ts';
import type { SnapshotVersions } from './snapshots/save-snapshot.ts';

export type QemuLog = Pick<Log, 'debug' | 'info' | 'warn' | 'error'>;

export interface QemuDriverOptions {
  /** Has a directory for each machine. */
  readonly dir: string;
  readonly volumesDir: string;
  readonly imagesDir: string;
  /** The image of a machine whose configuration names none; see `findImage`. */
  readonly image?: string | undefined;
  readonly accel: 'tcg' | 'kvm';
  /** The memory that machines may have together, suspended ones included. */
  readonly hostMemory_mb: number;
  /** See `QemuSettings`. */
  readonly network?: 'none' | 'egress' | undefined;
  /** The URL of this very platform process; read for each connection of a machine. */
  readonly machinesUrl: () => string;
  /** Where the database node of the machines is, which each of them reaches at an address of its own network. */
  readonly nodeUrl?: string | undefined;
  /** Makes a new token for the machine and revokes its earlier ones. */
  readonly createToken: (machine_id: string) => Promise<Secret>;
  /** End the machines when the platform is closed. */
  readonly endMachines: boolean;
  readonly log: QemuLog;
}

export interface QemuHost extends QemuDriverOptions {
  readonly emulator: string;
  readonly isRoot: boolean;
  filesOf(id: string): MachineFiles;
  /** Throws `not_configured` where there is no emulator. */
  versions(): Promise<SnapshotVersions>;
  /** Logs a step before which a crash leaves the old state and after which it leaves the new one. */
  stepOf(id: string): (step: string) => void;
}

/** Raised when a snapshot of an older driver cannot be loaded any more. */
const DRIVER_VERSION = 1;
const EMULATOR = 'qemu-system-x86_64';
const ROOT = 0;

export function createQemuHost(options: QemuDriverOptions): QemuHost {
  let version: Promise<string> | undefined;
  return {
    ...options,
    emulator: EMULATOR,
    isRoot: process.getuid?.() === ROOT,
    filesOf: (id) => new MachineFiles(join(options.dir, id)),
    async versions() {
      version ??= runTool(EMULATOR, ['--version'], '/');
      version.catch(() => {
        version = undefined;
      });
      return { emulator: (await version).split('\n')[0] ?? '', driver: DRIVER_VERSION };
    },
    stepOf: (id) => (step) => options.log.debug({ machine: id, step }, 'a step of a machine'),
  };
}
