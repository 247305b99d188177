// When the kernel probes a TCP connection over IPv4 that is silent, as its table of sockets says.
import { readFileSync } from 'node:fs';

const ESTABLISHED = '01';
const KEEP_ALIVE = '02';
const TICK_MS = 10;

/** One end of a connection by its ports; one of the two is enough where it tells. */
export interface SocketPorts {
  readonly own?: number;
  readonly other?: number;
}

/** Milliseconds from now; undefined when that end is not probed, has still something to send, or is not there. */
export function readNextProbe({ own, other }: SocketPorts): number | undefined {
  const has = (address: string | undefined, port: number | undefined) =>
    port === undefined || Number.parseInt(address?.split(':')[1] ?? '', 16) === port;
  for (const row of readFileSync('/proc/net/tcp', 'utf8').split('\n').slice(1)) {
    const [, local, remote, state, , timer = ''] = row.trim().split(/\s+/);
    if (state !== ESTABLISHED || !has(local, own) || !has(remote, other)) continue;
    const [kind, ticks = ''] = timer.split(':');
    return kind === KEEP_ALIVE ? Number.parseInt(ticks, 16) * TICK_MS : undefined;
  }
  return undefined;
}
