// Which connections of the workload are ended after a resume: those that are older than the resume and belong to a chosen port
// or cgroup.
import { withoutLastSlashes } from '../without-last-slashes.ts';
import type { SsConnection } from './ss-connections.ts';
import { toConnectionKey } from './tcp-connection.ts';

export interface StaleChoice {
  /** A connection is chosen when either end has one of these ports. */
  readonly ports: readonly number[];
  /** A connection is chosen when its socket was made in one of these cgroups, or below one. */
  readonly cgroups: readonly string[];
}

export interface StaleFacts {
  /** Keys of the connections that were there when the resume was noticed. */
  readonly older: ReadonlySet<string>;
  /** Sockets of the agent itself, which replaces its own connections. */
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
  const whole = withoutLastSlashes(parent);
  return path === whole || path.startsWith(`${whole}/`);
}
