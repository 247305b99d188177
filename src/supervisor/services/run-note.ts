// Notes of the processes that services run as, one file for each service: a supervisor that comes after one that was killed ends them before
// it starts others. A note of another boot names nothing that still runs.
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { z } from 'zod';
import { readBootId } from '../../linux/boot-id.ts';
import { findCgroup } from '../../linux/processes/cgroup.ts';
import type { ProcessFamily } from '../../linux/processes/process-family.ts';

const note = z.object({
  boot_id: z.string(),
  leader: z.object({ pid: z.int().positive(), start_ticks: z.int().nonnegative() }).optional(),
  cgroup: z.string().optional(),
});

/** All boots count as one on a kernel that shows no id of its boot. */
const UNKNOWN_BOOT = '';

/** What the processes of a service are found by, besides their mark. */
export type KnownRun = Pick<ProcessFamily, 'leader' | 'cgroup'>;

export class RunNotes {
  readonly #dir: string;

  constructor(stateDir: string) {
    this.#dir = join(stateDir, 'supervisor', 'runs');
  }

  write(name: string, { leader, cgroup }: KnownRun): void {
    mkdirSync(this.#dir, { recursive: true, mode: 0o700 });
    const path = join(this.#dir, name);
    const text = JSON.stringify({ boot_id: readBootId() ?? UNKNOWN_BOOT, leader, cgroup: cgroup?.path });
    writeFileSync(`${path}~`, text, { mode: 0o600 });
    renameSync(`${path}~`, path);
  }

  remove(name: string): void {
    try {
      rmSync(join(this.#dir, name), { force: true });
    } catch {
      // The process that it names has ended, and is found as ended.
    }
  }

  /** The runs by service. Notes of another boot, and those that cannot be read, are left out. */
  list(): ReadonlyMap<string, KnownRun> {
    const boot_id = readBootId() ?? UNKNOWN_BOOT;
    const found = new Map<string, KnownRun>();
    for (const name of this.#names()) {
      const read = this.#read(name);
      if (read === undefined || read.boot_id !== boot_id) continue;
      const cgroup = read.cgroup === undefined ? undefined : findCgroup(read.cgroup, basename(read.cgroup));
      found.set(name, { leader: read.leader, cgroup });
    }
    return found;
  }

  #names(): readonly string[] {
    try {
      return readdirSync(this.#dir).filter((name) => !name.endsWith('~'));
    } catch {
      return [];
    }
  }

  #read(name: string): z.infer<typeof note> | undefined {
    try {
      return note.parse(JSON.parse(readFileSync(join(this.#dir, name), 'utf8')));
    } catch {
      return undefined;
    }
  }
}
