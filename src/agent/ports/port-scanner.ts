// One scan of the machine: its listeners without the agent's own, who holds them, and what the scan cost.
import type { Clock } from '../../core/clock.ts';
import { type IgnoredPorts, toPortClass } from '../../core/ports/port-class.ts';
import { foldPorts, type OpenPort, type PortTable } from '../../core/ports/port-table.ts';
import type { TcpListener } from '../../core/ports/proc-net-tcp.ts';
import { createProcesses } from './processes.ts';
import { createSocketHolders } from './socket-holders.ts';
import { createSocketTables } from './socket-tables.ts';

/** How long a scan may hold the event loop before others get a turn. */
const SLICE_MS = 4;

/** Open as well, and nobody is told. */
export interface LeftOutPorts {
  /** The agent's. */
  readonly own: PortTable;
  /** Named in the settings. */
  readonly ignored: PortTable;
}

export interface PortScan {
  /** What others are told of. */
  readonly seen: PortTable;
  readonly leftOut: LeftOutPorts;
  /** Time spent in the scan itself, without the turns of others. */
  readonly cost_ms: number;
  /** The part of it that every scan costs, also when nothing has changed. */
  readonly idleCost_ms: number;
}

export interface PortScanner extends Disposable {
  /** Throws `not_ready` when a table cannot be read. One at a time. */
  scan(before: PortTable): Promise<PortScan>;
  /** The kernel's counters of TCP sockets; undefined where it shows none. */
  counters(): string | undefined;
  /** True when a process let go of a listener. The counters do not show it when another was opened at once. */
  letGo(): boolean;
}

export interface PortScannerOptions {
  readonly clock: Clock;
  readonly procRoot: string;
  readonly ownPid: number;
  readonly ignore: IgnoredPorts;
}

export function createPortScanner({ clock, procRoot, ownPid, ignore }: PortScannerOptions): PortScanner {
  const tables = createSocketTables(procRoot);
  const holders = createSocketHolders(createProcesses(procRoot), ownPid);

  /**
   * The kernel reads its table in pieces, and a socket that closes between two of them can hide another. One that vanished
   * while its descriptor is still there is looked for a second time before it counts as closed.
   */
  async function readListeners(breathe: () => Promise<void>): Promise<TcpListener[]> {
    const first = await tables.listeners(breathe);
    const inodes = toInodes(first);
    const vanished = new Set(holders.stillHeld(inodes));
    if (vanished.size === 0) return first;
    const again = await tables.listeners(breathe);
    return [...first, ...again.filter((listener) => vanished.has(listener.inode))];
  }

  const isIgnored = (open: OpenPort) => toPortClass(open, ignore) === 'ignored';

  return {
    async scan(before) {
      let spent_ms = 0;
      let slice_ms = clock.mono_ms();
      const cost_ms = () => spent_ms + clock.mono_ms() - slice_ms;
      const breathe = async () => {
        if (clock.mono_ms() - slice_ms < SLICE_MS) return;
        spent_ms = cost_ms();
        await new Promise((resolve) => setImmediate(resolve));
        slice_ms = clock.mono_ms();
      };
      const listeners = await readListeners(breathe);
      const inodes = toInodes(listeners);
      holders.check(inodes);
      const idleCost_ms = cost_ms();
      await holders.search(inodes, clock.mono_ms(), breathe);
      const isOwn = (listener: TcpListener) => holders.holderOf(listener.inode)?.pid === ownPid;
      const fold = (some: TcpListener[]) => foldPorts(some, holders.holderOf, before);
      const [ignored, seen] = split(fold(listeners.filter((listener) => !isOwn(listener))), isIgnored);
      const leftOut = { own: fold(listeners.filter(isOwn)), ignored };
      return { seen, leftOut, cost_ms: cost_ms(), idleCost_ms };
    },
    counters: () => tables.counters(),
    letGo: () => holders.letGo(),
    [Symbol.dispose]() {
      tables[Symbol.dispose]();
    },
  };
}

function toInodes(listeners: readonly TcpListener[]): Set<number> {
  return new Set(listeners.map((listener) => listener.inode));
}

function split(table: PortTable, isFirst: (open: OpenPort) => boolean): [first: PortTable, second: PortTable] {
  const { yes = [], no = [] } = Object.groupBy(table, ([, open]) => (isFirst(open) ? 'yes' : 'no'));
  return [new Map(yes), new Map(no)];
}
