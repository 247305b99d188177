// Ends connections that a policy does not allow any more and over which nothing is sent: the kernel judges packets, and they have none.
import type { TcpConnection } from '../core/connections/tcp-connection.ts';
import { createSs } from '../linux/sockets/ss.ts';

export interface EndOptions {
  /** Whether a new connection to there would be let through. */
  readonly isAllowed: (peer: string, port: number) => boolean;
  /** The ports at which programs of this machine listen: connections that came in there are not judged. */
  readonly listening: ReadonlySet<number>;
}

/** Pure. */
export function selectRefused<T extends TcpConnection>(connections: readonly T[], options: EndOptions): T[] {
  const { isAllowed, listening } = options;
  return connections.filter(
    ({ local_port, peer, peer_port }) => !listening.has(local_port) && !isAllowed(peer, peer_port),
  );
}

/** Resolves with how many were ended; their programs see a reset. Throws SsError. */
export async function endRefused(options: EndOptions): Promise<number> {
  const ss = createSs();
  const refused = selectRefused(await ss.list(), options);
  return refused.length === 0 ? 0 : (await ss.kill(refused)).length;
}
