// What commands have left in the background: it is in the control group of its command, which is kept as long as it has a process.
import { type Cgroup, listCgroups } from '../../linux/processes/cgroup.ts';

/** The names of the groups of commands begin so. */
export const EXEC_GROUP = 'remora-exec-';

export class LeftGroups {
  readonly #list: () => readonly Cgroup[];
  readonly #used = new Set<string>();

  constructor(list = () => listCgroups(EXEC_GROUP)) {
    this.#list = list;
  }

  /** Whether any group has a process. Removes those that are empty by now; one that was always empty waits for its first process. */
  hasProcesses(): boolean {
    let found = false;
    for (const group of this.#list()) {
      if (group.pids().length > 0) {
        this.#used.add(group.path);
        found = true;
      } else if (this.#used.delete(group.path)) group.remove();
    }
    return found;
  }
}
