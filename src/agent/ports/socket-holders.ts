// Finds the process behind a socket through /proc/<pid>/fd. All processes are walked only for sockets that are not known yet; a
// known one costs a single look at the descriptor it was found under.
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { SocketHolder } from '../../core/ports/port-table.ts';

/** Walks for one socket that follow each other at once; after that the holder is taken to be invisible, and looked for rarely. */
const EAGER_TRIES = 3;
const RETRY_MIN_MS = 1_000;
const RETRY_MAX_MS = 60_000;
/** Known sockets that one glance looks at, so that many of them do not make it dear. */
const GLANCE_MAX = 50;

interface Found extends SocketHolder {
  readonly link: string;
}

interface Missing {
  tries: number;
  retryAt_ms: number;
}

export interface SocketHolders {
  /** Forgets what is not in `inodes`, and holders that let go. */
  check(inodes: ReadonlySet<number>): void;
  /** Looks for the holders of the sockets that are not known. */
  search(inodes: ReadonlySet<number>, now_ms: number, breathe: () => Promise<void>): Promise<void>;
  /** The lowest pid that holds the socket, the agent itself before all others; undefined when nobody was seen. */
  holderOf(inode: number): SocketHolder | undefined;
  /** True when a process let go of a known socket. Looks at a part of them each time, in turn. */
  letGo(): boolean;
  /** Sockets that are known, not in `inodes`, and still held by a process: the table may have missed them. */
  stillHeld(inodes: ReadonlySet<number>): number[];
}

export function createSocketHolders(root: string, ownPid: number): SocketHolders {
  const found = new Map<number, Found>();
  const missing = new Map<number, Missing>();
  let turn = found.entries();

  async function walk(wanted: Set<number>, breathe: () => Promise<void>): Promise<void> {
    for (const pid of pidsOf(root, ownPid)) {
      if (wanted.size === 0) return;
      await breathe();
      const directory = join(root, String(pid), 'fd');
      for (const name of listOrNothing(directory)) {
        const link = `${directory}/${name}`;
        const inode = socketAt(link);
        if (inode === undefined || !wanted.delete(inode)) continue;
        found.set(inode, { pid, command: commandOf(root, pid), link });
      }
    }
  }

  return {
    check(inodes) {
      for (const inode of missing.keys()) if (!inodes.has(inode)) missing.delete(inode);
      for (const [inode, holder] of found) {
        if (!inodes.has(inode) || socketAt(holder.link) !== inode) found.delete(inode);
      }
    },
    async search(inodes, now_ms, breathe) {
      const wanted = new Set<number>();
      for (const inode of inodes) {
        if (!found.has(inode) && (missing.get(inode)?.retryAt_ms ?? 0) <= now_ms) wanted.add(inode);
      }
      if (wanted.size === 0) return;
      const tried = [...wanted];
      await walk(wanted, breathe);
      for (const inode of tried) {
        if (wanted.has(inode)) missing.set(inode, nextTry(missing.get(inode), now_ms));
        else missing.delete(inode);
      }
    },
    holderOf: (inode) => found.get(inode),
    letGo() {
      for (let looks = Math.min(GLANCE_MAX, found.size); looks > 0; looks -= 1) {
        let next = turn.next();
        if (next.done === true) {
          turn = found.entries();
          next = turn.next();
        }
        if (next.done === true) return false;
        const [inode, { link }] = next.value;
        if (socketAt(link) !== inode) return true;
      }
      return false;
    },
    stillHeld(inodes) {
      const held: number[] = [];
      for (const [inode, holder] of found) if (!inodes.has(inode) && socketAt(holder.link) === inode) held.push(inode);
      return held;
    },
  };
}

function nextTry(before: Missing | undefined, now_ms: number): Missing {
  const tries = (before?.tries ?? 0) + 1;
  const wait_ms =
    tries < EAGER_TRIES ? 0 : Math.min(RETRY_MAX_MS, RETRY_MIN_MS * 2 ** Math.min(tries - EAGER_TRIES, 10));
  return { tries, retryAt_ms: now_ms + wait_ms };
}

/** Own pid first: a socket that was handed over by a service manager is held by both, and it is the agent's. */
function pidsOf(root: string, ownPid: number): number[] {
  const pids: number[] = [];
  for (const name of listOrNothing(root)) {
    const pid = Number(name);
    if (Number.isInteger(pid) && pid !== ownPid) pids.push(pid);
  }
  return [ownPid, ...pids.sort((a, b) => a - b)];
}

/** Nothing for a process that ended meanwhile, and for one that this user may not look into. */
function listOrNothing(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch {
    return [];
  }
}

function socketAt(link: string): number | undefined {
  try {
    const match = /^socket:\[(\d+)\]$/.exec(readlinkSync(link));
    return match === null ? undefined : Number(match[1]);
  } catch {
    return undefined;
  }
}

/** The first word of the command line, without its directory: what people call the process. */
function commandOf(root: string, pid: number): string {
  try {
    return basename(readFileSync(join(root, String(pid), 'cmdline'), 'utf8').split('\0', 1)[0] ?? '');
  } catch {
    return '';
  }
}
