// The hooks of one directory, in the order of their names: executables, and Unix sockets on which a program listens.
import { accessSync, constants, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';

export interface Hook {
  readonly name: string;
  readonly path: string;
  readonly kind: 'executable' | 'socket';
}

export interface HookList {
  readonly hooks: readonly Hook[];
  /** What lies there and is not run, with the reason. */
  readonly skipped: readonly { readonly name: string; readonly reason: string }[];
}

/** Hidden files and what editors and package managers leave behind are passed over without a word. A missing directory has none. */
export function listHooks(directory: string): HookList {
  const hooks: Hook[] = [];
  const skipped: { name: string; reason: string }[] = [];
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

function toHook(name: string, path: string): Hook | { name: string; reason: string } {
  const stat = statSync(path, { throwIfNoEntry: false });
  if (stat === undefined) return { name, reason: 'a link that leads nowhere' };
  if (stat.isSocket()) return { name, path, kind: 'socket' };
  if (!stat.isFile()) return { name, reason: 'neither a file nor a socket' };
  if ((stat.mode & 0o002) !== 0) return { name, reason: 'everybody may write to it' };
  try {
    accessSync(path, constants.X_OK);
  } catch {
    return { name, reason: 'not executable' };
  }
  return { name, path, kind: 'executable' };
}
