// Folds the listeners of a machine into one entry per port: dual stack, several addresses and SO_REUSEPORT are one open port.
import type { TcpListener } from './proc-net-tcp.ts';

/** The process that holds a socket open. */
export interface SocketHolder {
  readonly pid: number;
  readonly command: string;
  /** When it was started, in clock ticks since boot. Pid and start time together name one process for good. */
  readonly start_ticks: number | undefined;
}

export interface OpenPort {
  readonly port: number;
  /** The process that opened it. 0 and no command when it cannot be seen. */
  readonly pid: number;
  readonly command: string | undefined;
  readonly start_ticks: number | undefined;
  readonly uid: number;
  /** Bind addresses, the widest first. Never empty. */
  readonly addresses: readonly string[];
  /** Inodes of its sockets, the longest known first. Empty for a port that was recorded in an earlier boot. */
  readonly sockets: readonly number[];
}

export type PortTable = ReadonlyMap<number, OpenPort>;

/** Stands for a process that cannot be seen: one of another user, or of another pid namespace. */
export const PID_UNKNOWN = 0;

/** True when every port is the same object in both; `foldPorts` reuses the objects that did not change. */
export function isSameTable(a: PortTable, b: PortTable): boolean {
  return a.size === b.size && [...a].every(([port, open]) => b.get(port) === open);
}

/**
 * One entry per port; an entry that did not change is the object of `before`. The sockets keep the order of `before`, so that
 * the pid of a port stays that of the longest known socket.
 */
export function foldPorts(
  listeners: readonly TcpListener[],
  holderOf: (inode: number) => SocketHolder | undefined,
  before: PortTable,
): PortTable {
  const byPort = new Map<number, TcpListener[]>();
  for (const listener of listeners) {
    const group = byPort.get(listener.port);
    if (group === undefined) byPort.set(listener.port, [listener]);
    else group.push(listener);
  }
  const table = new Map<number, OpenPort>();
  for (const [port, group] of byPort) table.set(port, foldPort(port, group, holderOf, before.get(port)));
  return table;
}

function foldPort(
  port: number,
  group: readonly TcpListener[],
  holderOf: (inode: number) => SocketHolder | undefined,
  before: OpenPort | undefined,
): OpenPort {
  const known = before?.sockets ?? [];
  const present = new Set(group.map((listener) => listener.inode));
  const added = [...present].filter((inode) => !known.includes(inode)).sort((a, b) => a - b);
  const sockets = [...known.filter((inode) => present.has(inode)), ...added];
  const visible = sockets.find((inode) => holderOf(inode) !== undefined);
  const holder = visible === undefined ? undefined : holderOf(visible);
  const first = group.find((listener) => listener.inode === (visible ?? sockets[0]));
  const addresses = [...new Set(group.map((listener) => listener.address))].sort(byWidth);
  const pid = holder?.pid ?? PID_UNKNOWN;
  const seen = { command: holder?.command, start_ticks: holder?.start_ticks };
  const open = { port, pid, ...seen, uid: first?.uid ?? 0, addresses, sockets };
  return before !== undefined && isSame(open, before) ? before : open;
}

function isSame(a: OpenPort, b: OpenPort): boolean {
  const isSameList = (x: readonly unknown[], y: readonly unknown[]) =>
    x.length === y.length && x.every((value, index) => value === y[index]);
  if (a.pid !== b.pid || a.start_ticks !== b.start_ticks || a.command !== b.command || a.uid !== b.uid) return false;
  return isSameList(a.sockets, b.sockets) && isSameList(a.addresses, b.addresses);
}

const wildcards: readonly string[] = ['0.0.0.0', '::'];

function byWidth(a: string, b: string): number {
  const width = (address: string) => (wildcards.includes(address) ? 0 : 1);
  return width(a) - width(b) || (a < b ? -1 : 1);
}
