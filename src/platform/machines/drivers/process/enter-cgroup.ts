// Moves the first process of an instance into the control group of the instance.
import type { Cgroup } from '../../../../linux/processes/cgroup.ts';
import { signalProcess } from '../../../../linux/processes/signal-process.ts';

/**
 * Call it as soon as the process is there. It stands still until it has been moved: the kernel took up to 40 ms for that, and what the process
 * started meanwhile would never be in the group.
 */
export function enterCgroup(pid: number, cgroup: Cgroup | undefined): void {
  if (cgroup === undefined) return;
  signalProcess(pid, 'SIGSTOP');
  cgroup.add(pid);
  signalProcess(pid, 'SIGCONT');
}
