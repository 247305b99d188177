// Lists the hooks of one directory in the order of their names: executables, and Unix sockets on which a program listens.
import { accessSync, constants, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { whyUntrusted } from '../../linux/trusted-path.ts';

export interface Hook {
  readonly name: string;
  readonly path: string;
  readonly kind: 'executable' | 'socket';
}

export interface HookList {
  readonly hooks: readonly Hook[];
  /** Files that are not run, with the reason. */
  readonly skipped: readonly SkippedHook[];
}

export interface SkippedHook {
  readonly name: string;
  readonly reason: string;
  /** True when a user other than root and this one can write the hook: running it would give them the rights of the agent. */
  readonly untrusted: boolean;
}

/** Leaves out hidden files and those that editors and package managers leave behind. A missing directory has no hooks. */
export function listHooks(directory: string): HookList {
  const hooks: Hook[] = [];
  const skipped: SkippedHook[] = [];
  for (const name of namesIn(directory)) {
    if (/^\.|~$|\.(?:dpkg-\w+|rpm\w+|bak|swp)$/.test(name)) continue;
    const path = join(directory, name);
    const found = toHook(name, path);
    if ('reason' in found) skipped.push(found);
    else hooks.push(found);
  }
  return { hooks, skipped };
}

function namesIn(directory: string): string[] {
  try {
    return readdirSync(directory).sort();
  } catch {
    return [];
  }
}

function toHook(name: string, path: string): Hook | SkippedHook {
  const stat = statSync(path, { throwIfNoEntry: false });
  if (stat === undefined) return { name, reason: 'a link that leads nowhere', untrusted: false };
  const why = whyUntrusted(path);
  if (why !== undefined) return { name, reason: why, untrusted: true };
  if (stat.isSocket()) return { name, path, kind: 'socket' };
  if (!stat.isFile()) return { name, reason: 'neither a file nor a socket', untrusted: false };
  try {
    accessSync(path, constants.X_OK);
  } catch {
    return { name, reason: 'not executable', untrusted: false };
  }
  return { name, path, kind: 'executable' };
}
