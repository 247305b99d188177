// The connections of a server that speaks TLS whose handshake is not over. The server waits for them when it closes, and tells of each only
// by the TCP connection below it.
import type { Server } from 'node:http';
import type { Socket } from 'node:net';

export interface Handshakes {
  /** Ends the connections of all that are not over. */
  cut(): void;
}

/** Follows every connection that `server` accepts after this call. */
export function watchHandshakes(server: Server): Handshakes {
  // The server tells of no handshake that begins, and the socket of one that is over has no documented way to the connection below it. Both
  // know the addresses and ports of their two ends, which no other open connection has; those of a peer that is gone are unknown, and such a
  // connection closes by itself.
  const open = new Map<string, Socket>();
  server.on('connection', (socket: Socket) => {
    const ends = toEnds(socket);
    open.set(ends, socket);
    socket.once('close', () => {
      // Its place may have been taken: the kernel gives the same port again before this end has heard of the close.
      if (open.get(ends) === socket) open.delete(ends);
    });
  });
  server.on('secureConnection', (socket: Socket) => open.delete(toEnds(socket)));
  return {
    cut() {
      for (const socket of open.values()) socket.destroy();
    },
  };
}

function toEnds({ remoteAddress, remotePort, localAddress, localPort }: Socket): string {
  return `${remoteAddress} ${remotePort} ${localAddress} ${localPort}`;
}
