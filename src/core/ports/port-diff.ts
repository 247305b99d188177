// What changed between two tables of open ports. A port whose sockets were all replaced was closed and opened again.
import type { OpenPort, PortTable } from './port-table.ts';

export interface PortChange {
  readonly type: 'port_opened' | 'port_closed';
  /** The port as it was opened, or as it was last seen before it closed. */
  readonly open: OpenPort;
}

/** Closed ports first, then opened ones, each by number. */
export function diffPorts(before: PortTable, after: PortTable): PortChange[] {
  const closed: PortChange[] = [];
  const opened: PortChange[] = [];
  for (const [port, open] of before) {
    if (!isSameListener(open, after.get(port))) closed.push({ type: 'port_closed', open });
  }
  for (const [port, open] of after) {
    if (!isSameListener(open, before.get(port))) opened.push({ type: 'port_opened', open });
  }
  return [...closed.sort(byPort), ...opened.sort(byPort)];
}

/** True while at least one socket has been there all the time: a second one that joins or leaves changes nothing. */
export function isSameListener(open: OpenPort, other: OpenPort | undefined): boolean {
  return other?.sockets.some((inode) => open.sockets.includes(inode)) ?? false;
}

function byPort(a: PortChange, b: PortChange): number {
  return a.open.port - b.open.port;
}
