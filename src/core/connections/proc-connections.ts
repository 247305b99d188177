// Reads the kernel's table of TCP sockets, /proc/net/tcp and /proc/net/tcp6, for its established connections.
import { toAddress } from './kernel-address.ts';
import type { TcpConnection } from './tcp-connection.ts';

const ROW =
  /^ *\d+: ([0-9A-F]+):([0-9A-F]{4}) ([0-9A-F]+):([0-9A-F]{4}) 01 [0-9A-F]+:[0-9A-F]+ [0-9A-F]+:[0-9A-F]+ [0-9A-F]+ +\d+ +\d+ (\d+) /gm;

/**
 * The connections in the order of the table. Rows that are not established, or that no process holds any more, are left out.
 */
export function parseProcConnections(text: string): TcpConnection[] {
  const connections: TcpConnection[] = [];
  for (const [, local = '', localPort = '', peer = '', peerPort = '', inode] of text.matchAll(ROW)) {
    if (inode === '0') continue;
    connections.push({
      local: toAddress(local),
      local_port: Number.parseInt(localPort, 16),
      peer: toAddress(peer),
      peer_port: Number.parseInt(peerPort, 16),
      inode: Number(inode),
    });
  }
  return connections;
}
