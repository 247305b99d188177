// Which connections of the workload are ended after a resume: those that are older than it and of a chosen port or cgroup.
import type { SsConnection } from './ss-connections.ts';
import { toConnectionKey } from './tcp-connection.ts';

export interface StaleChoice {
  /** A connection with one of these at either end. */
  readonly ports: readonly number[];
  /** A connection whose socket was made in one of these cgroups, or below one. */
  readonly cgroups: readonly string[];
}

export interface StaleFacts {
  /** Keys of the connections that were there when the resume was noticed. */
  readonly older: ReadonlySet<string>;
  /** Sockets of the agent itself, which has replaced what it had. */
  readonly ownInodes: ReadonlySet<number>;
}

export function selectStale(
  connections: readonly SsConnection[],
  { ports, cgroups }: StaleChoice,
  { older, ownInodes }: StaleFacts,
): SsConnection[] {
  const isChosen = ({ local_port, peer_port, cgroup }: SsConnection) =>
    ports.includes(local_port) ||
    ports.includes(peer_port) ||
    (cgroup !== undefined && cgroups.some((chosen) => isWithin(cgroup, chosen)));
  return connections.filter((connection) => {
    return isChosen(connection) && older.has(toConnectionKey(connection)) && !ownInodes.has(connection.inode);
  });
}

function isWithin(path: string, parent: string): boolean {
  const whole = parent.replace(/\/+$/, '');
  return path === whole || path.startsWith(`${whole}/`);
}
