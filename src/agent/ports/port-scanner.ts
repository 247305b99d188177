// Scans the machine once: finds its listeners without the agent's own, the processes that hold them, and the cost of the scan.
import type { Clock } from '../../core/clock.ts';
import { type IgnoredPorts, toPortClass } from '../../core/ports/port-class.ts';
import { foldPorts, type OpenPort, type PortTable } from '../../core/ports/port-table.ts';
import type { TcpListener } from '../../core/ports/proc-net-tcp.ts';
import { createProcesses } from '../../linux/processes/processes.ts';
import { createSocketHolders } from '../../linux/sockets/socket-holders.ts';
import { createSocketTables } from '../../linux/sockets/socket-tables.ts';

/** How long a scan may hold the event loop before others get a turn. */
const SLICE_MS = 4;

/** Open ports that are not announced. */
export interface LeftOutPorts {
  /** The agent's own ports. */
  readonly own: PortTable;
  /** The ports that the settings ignore. */
  readonly ignored: PortTable;
}

export interface PortScan {
  /** The open ports to announce. */
  readonly seen: PortTable;
  readonly leftOut: LeftOutPorts;
  /** Time of the scan itself, without the turns that it gave to other work. */
  readonly cost_ms: number;
  /** The part of `cost_ms` that every scan costs, also when nothing has changed. */
  readonly idleCost_ms: number;
}

export interface PortScanner extends Disposable {
  /** Scans. Throws `not_ready` when a table cannot be read. Do not call it while a scan runs. */
  scan(before: PortTable): Promise<PortScan>;
  /** The kernel's counters of TCP sockets; undefined when it shows none. */
  counters(): string | undefined;
  /** True when a process closed a listener. The counters do not show it when another was opened at once. */
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
   * The kernel reads its table in pieces, and a socket that closes between two of them can hide another. A listener that is missing
   * while its descriptor still exists is looked for a second time before it counts as closed.
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
