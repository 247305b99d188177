// Which connections are inbound work: those to an announced port that the agent itself did not make.
import { isFarEnd, type TcpConnection, toConnectionKey } from '../connections/tcp-connection.ts';

export interface InboundConnection extends TcpConnection {
  /** Payload so far in both directions; undefined where the system does not show it. */
  readonly bytes: number | undefined;
}

export interface InboundFilter {
  /** Ports that programs of this machine listen on. */
  readonly ports: ReadonlySet<number>;
  /** Sockets of the agent's own process. */
  readonly ownInodes: ReadonlySet<number>;
  /** Keys of connections that were inbound before. They stay so when their listener closes. */
  readonly known: ReadonlySet<string>;
}

export function selectInbound(connections: readonly InboundConnection[], filter: InboundFilter): InboundConnection[] {
  const own = connections.filter(({ inode }) => filter.ownInodes.has(inode));
  return connections.filter((connection) => {
    if (!filter.ports.has(connection.local_port) && !filter.known.has(toConnectionKey(connection))) return false;
    return !own.some((mine) => mine === connection || isFarEnd(mine, connection));
  });
}

/** False when both ends are in this machine: programs of the machine that talk to one another. */
export function isFromOutside({ local, peer }: TcpConnection): boolean {
  return peer !== local && peer !== '::1' && !peer.startsWith('127.');
}
