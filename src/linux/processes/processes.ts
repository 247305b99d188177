// Reads the processes of this machine and their descriptors from /proc. A process that has ended, or that this user may not
// look into, has no entries.
import { readdirSync, readFileSync, readlinkSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { readProcessStart } from './process-start.ts';
import { readProcess } from './process-table.ts';

export interface Processes {
  /** Every process, lowest pid first. */
  pids(): number[];
  /** How many descriptors a process has open; 0 where the kernel does not count them (before Linux 6.2). */
  descriptorCount(pid: number): number;
  /** The paths of its descriptors. */
  descriptors(pid: number): string[];
  parentOf(pid: number): number | undefined;
  /** The inode of the socket behind a descriptor. */
  socketAt(link: string): number | undefined;
  /** Command and start time, in clock ticks since boot. */
  describe(pid: number): { readonly command: string; readonly start_ticks: number | undefined };
}

/** `root` is /proc, or a copy of it in a test. */
export function createProcesses(root: string): Processes {
  const fdDirectory = (pid: number) => join(root, String(pid), 'fd');
  return {
    pids() {
      const pids = listOrNothing(root).map(Number);
      return pids.filter(Number.isInteger).sort((a, b) => a - b);
    },
    descriptorCount(pid) {
      try {
        return statSync(fdDirectory(pid)).size;
      } catch {
        return 0;
      }
    },
    descriptors(pid) {
      const directory = fdDirectory(pid);
      return listOrNothing(directory).map((name) => `${directory}/${name}`);
    },
    parentOf(pid) {
      const parent = readProcess(pid, root)?.parent ?? 0;
      return parent > 0 ? parent : undefined;
    },
    socketAt(link) {
      try {
        const match = /^socket:\[(\d+)\]$/.exec(readlinkSync(link));
        return match === null ? undefined : Number(match[1]);
      } catch {
        return undefined;
      }
    },
    describe(pid) {
      const start = readProcessStart(root, pid);
      return { command: commandOf(root, pid), start_ticks: start === undefined ? undefined : Number(start) };
    },
  };
}

function listOrNothing(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch {
    return [];
  }
}

/** The first word of the command line, without its directory: the usual name of the process. */
function commandOf(root: string, pid: number): string {
  try {
    return basename(readFileSync(join(root, String(pid), 'cmdline'), 'utf8').split('\0', 1)[0] ?? '');
  } catch {
    return '';
  }
}
