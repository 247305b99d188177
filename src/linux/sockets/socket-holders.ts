// Finds the process behind a socket through /proc/<pid>/fd. All processes are walked only for sockets that are not known yet; a
// known one costs a single look at the descriptor it was found under.
import type { SocketHolder } from '../../core/ports/port-table.ts';
import type { Processes } from '../processes/processes.ts';

/**
 * How often one socket is searched for in walks that follow each other at once. After that its holder counts as invisible, and
 * is searched for rarely.
 */
const EAGER_TRIES = 3;
const RETRY_MIN_MS = 1_000;
const RETRY_MAX_MS = 60_000;
/** How many known sockets one glance looks at, so that its cost stays small. */
const GLANCE_MAX = 20;
/** A process with more descriptors is looked into last: it has thousands of connections, and most walks end before it. */
const MANY_DESCRIPTORS = 1_024;

interface Found extends SocketHolder {
  readonly link: string;
}

interface Missing {
  tries: number;
  retryAt_ms: number;
}

export interface SocketHolders {
  /** Forgets the sockets that are not in `inodes`, and the holders that have closed theirs. */
  check(inodes: ReadonlySet<number>): void;
  /** Searches for the holders of the sockets that are not known. */
  search(inodes: ReadonlySet<number>, now_ms: number, breathe: () => Promise<void>): Promise<void>;
  /**
   * The lowest pid that holds the socket, the agent itself before all others; undefined when no holder was seen. A process with
   * very many descriptors counts only when no other holds the socket, or when the other inherited it from there.
   */
  holderOf(inode: number): SocketHolder | undefined;
  /** True when a process has closed a known socket. Each call looks at another part of them, in turn. */
  letGo(): boolean;
  /** Sockets that are known, not in `inodes`, and still held by a process: the table may have missed them. */
  stillHeld(inodes: ReadonlySet<number>): number[];
}

export function createSocketHolders(processes: Processes, ownPid: number): SocketHolders {
  const found = new Map<number, Found>();
  const missing = new Map<number, Missing>();
  let turn = found.entries();

  async function walk(wanted: Set<number>, breathe: () => Promise<void>): Promise<void> {
    const large = new Set<number>();
    // The own pid comes first: a socket that a service manager handed over is held by both, and it is the agent's.
    const pids = [ownPid, ...processes.pids().filter((pid) => pid !== ownPid)];
    for (const pid of pids) {
      if (wanted.size === 0) return;
      if (pid !== ownPid && processes.descriptorCount(pid) > MANY_DESCRIPTORS) large.add(pid);
      else await readDescriptors(pid, wanted, large, breathe);
    }
    for (const pid of large) await readDescriptors(pid, wanted, large, breathe);
  }

  async function readDescriptors(
    pid: number,
    wanted: Set<number>,
    large: Set<number>,
    breathe: () => Promise<void>,
  ): Promise<void> {
    const mine = new Set<number>();
    for (const link of wanted.size === 0 ? [] : processes.descriptors(pid)) {
      await breathe();
      const inode = processes.socketAt(link);
      if (inode === undefined || !wanted.delete(inode)) continue;
      found.set(inode, { pid, link, ...processes.describe(pid) });
      mine.add(inode);
      if (wanted.size === 0) break;
    }
    // A child may have inherited the socket from a parent that was passed over.
    const parent = mine.size === 0 ? undefined : processes.parentOf(pid);
    if (parent !== undefined && large.delete(parent)) {
      const both = new Set([...wanted, ...mine]);
      await readDescriptors(parent, both, large, breathe);
      for (const inode of wanted) if (!both.has(inode)) wanted.delete(inode);
    }
  }

  return {
    check(inodes) {
      for (const inode of missing.keys()) if (!inodes.has(inode)) missing.delete(inode);
      for (const [inode, holder] of found) {
        if (!inodes.has(inode) || processes.socketAt(holder.link) !== inode) found.delete(inode);
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
        if (processes.socketAt(link) !== inode) return true;
      }
      return false;
    },
    stillHeld(inodes) {
      const held: number[] = [];
      for (const [inode, holder] of found)
        if (!inodes.has(inode) && processes.socketAt(holder.link) === inode) held.push(inode);
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
