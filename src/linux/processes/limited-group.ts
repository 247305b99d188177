// A control group whose groups share a limit of memory (cgroups(7), version 2). The kernel limits the groups inside a group only while that one has
// no process itself: this process moves to a group of its own first.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { errorCode } from '../../core/error-code.ts';
import { toErrorMessage } from '../../core/error-message.ts';
import { createCgroup, findUsableCgroup, LIMITED_GROUP, OWN_GROUP } from './cgroup.ts';
import { readProcess } from './process-table.ts';

/** No limit can be set here: the message is what is missing, as people can provide it. */
export class LimitError extends Error {
  override readonly name = 'LimitError';
}

const OWN_UNIT = 'as remora-supervisor.service has it';

/**
 * Makes the group, where it is not there yet, and sets its limit, which holds at once for what runs in it: what needs more is ended. Swap is not
 * used. The result is the path of the group. Throws LimitError.
 */
export function limitMemory(limit_bytes: number): string {
  const base = findUsableCgroup();
  if (base === undefined) throw new LimitError(`a control group of version 2 for the supervisor alone, ${OWN_UNIT}`);
  if (!read(base, 'cgroup.controllers').includes('memory')) {
    throw new LimitError('the memory controller of cgroup version 2');
  }
  const path = join(base, LIMITED_GROUP);
  try {
    enableMemory(base);
    mkdirSync(path, { recursive: true });
    enableMemory(path);
    writeFileSync(join(path, 'memory.max'), String(limit_bytes));
  } catch (error) {
    throw new LimitError(
      `a control group of version 2 that is the supervisor’s, ${OWN_UNIT}: ${toErrorMessage(error)}`,
    );
  }
  withoutSwap(path);
  return path;
}

/** What runs in the group has no limit any more. */
export function unlimitMemory(): void {
  const base = findUsableCgroup();
  if (base === undefined) return;
  try {
    writeFileSync(join(base, LIMITED_GROUP, 'memory.max'), 'max');
  } catch (error) {
    // There was never a limit.
    if (errorCode(error) !== 'ENOENT') throw error;
  }
}

/** Has the kernel count the memory of each group inside. Throws the error of the kernel, such as EBUSY while another process is in the group. */
function enableMemory(path: string): void {
  if (read(path, 'cgroup.subtree_control').includes('memory')) return;
  moveOwn(path);
  writeFileSync(join(path, 'cgroup.subtree_control'), '+memory');
}

/** Moves this process, and what it has started, out of the group. */
function moveOwn(path: string): void {
  const inside = read(path, 'cgroup.procs').split('\n').map(Number);
  const own = inside.filter((pid) => pid === process.pid || (pid > 0 && readProcess(pid)?.parent === process.pid));
  if (own.length === 0) return;
  const target = join(path, OWN_GROUP);
  mkdirSync(target, { recursive: true });
  const group = createCgroup(target);
  for (const pid of own) group.add(pid);
}

function withoutSwap(path: string): void {
  try {
    writeFileSync(join(path, 'memory.swap.max'), '0');
  } catch {
    // A kernel that does not count swap.
  }
}

function read(path: string, file: string): string {
  return readFileSync(join(path, file), 'utf8');
}
