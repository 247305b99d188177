// What a process in each guest reads from /dev/urandom, over and over, sent by datagrams: whether the kernels of two copies give the same.
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { atEnd } from '../at-end.ts';

export interface ControlReads {
  /** Begins to send, in a guest. Goes on in every copy of it. */
  readonly script: string;
  /** Forgets what has come. */
  clear(): void;
  /** The reads of each sender, by their number. Each guest is one sender. */
  senders(): readonly ReadonlyMap<number, string>[];
}

/** The address of this machine in a guest's network. */
const HOST = '10.77.0.1';

export async function listenForControlReads(): Promise<ControlReads> {
  const reads = new Map<number, Map<number, string>>();
  const socket = createSocket('udp4');
  socket.on('message', (message, { port }) => {
    const [number, value = ''] = message.toString('latin1').trim().split(' ');
    const own = reads.get(port) ?? new Map<number, string>();
    own.set(Number(number), value);
    reads.set(port, own);
  });
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  atEnd(() => socket.close());
  const loop = `exec 3<>/dev/udp/${HOST}/${socket.address().port}
    n=0
    while :; do n=$((n+1)); echo "$n $(od -An -N16 -tx1 /dev/urandom | tr -d ' \\n')" >&3; sleep 0.5; done`;
  return {
    // The script comes from a file, because systemd would take the variables for its own.
    script: `cat > /run/control-reads <<'END'\n${loop}\nEND\nsystemd-run --quiet bash /run/control-reads`,
    clear: () => reads.clear(),
    senders: () => [...reads.values()],
  };
}

/** How many reads with the same number are equal and how many are not. */
export function compareReads(one: ReadonlyMap<number, string>, other: ReadonlyMap<number, string>, from: number) {
  const both = [...one].filter(([number]) => number >= from && other.has(number));
  const equal = both.filter(([number, value]) => other.get(number) === value);
  return { equal: equal.length, different: both.length - equal.length };
}
