// An established TCP connection as one end of it sees it, and the key that names that end for good.

export interface TcpConnection {
  /** Addresses as text; a v4-mapped one in its IPv4 form. */
  readonly local: string;
  readonly local_port: number;
  readonly peer: string;
  readonly peer_port: number;
  /** The identity of the socket while it lives. */
  readonly inode: number;
}

/** A later connection between the same two addresses and ports has another inode, and so another key. */
export function toConnectionKey(connection: TcpConnection): string {
  const { local, local_port, peer, peer_port, inode } = connection;
  return `${local} ${local_port} ${peer} ${peer_port} ${inode}`;
}

/** True when `other` is the far end of `connection`, so that both ends are in this machine. */
export function isFarEnd(connection: TcpConnection, other: TcpConnection): boolean {
  if (connection.local_port !== other.peer_port || connection.peer_port !== other.local_port) return false;
  return connection.local === other.peer && connection.peer === other.local;
}
