// What comes out of the machine of a world, seen by `tcpdump` on the other end of its cable.
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { eventually } from '../eventually.ts';
import type { NetworkWorld } from '../network-world.ts';
import { tempDir } from '../temp-dir.ts';

export interface Seen {
  readonly at_ms: number;
  /** `tcp 93.184.1.1:80`, `icmp 93.184.1.1`; of a question to a name server `name a.example`. */
  readonly what: string;
}

export interface NetworkCapture {
  /** Ends it, and resolves with everything that it saw, in its order. */
  end(): Promise<readonly Seen[]>;
}

/** What an interface says to its neighbours about itself. */
const OF_THE_CABLE = /ICMP6, (?:neighbor|router|multicast|destination unreachable)|HBH ICMP6/;
const LINE = /^(\d+\.\d+) IP6? (\S+) > (\S+): (.*)$/;
const QUESTION = / (?:\[\w+\] )?[A-Za-z0-9]+\? (\S+?)\.? \(/;

export async function openNetworkCapture(world: NetworkWorld): Promise<NetworkCapture> {
  const file = join(tempDir(), 'seen.pcap');
  // The memory is for a few packets unless a length is set.
  const memory = ['-s', '512', '-B', '8192'];
  const words = ['-i', 'down0', '-Q', 'in', ...memory, '-U', '--immediate-mode', '-Z', 'root', '-w', file, 'ip or ip6'];
  const child = world.startOutside(['tcpdump', ...words]);
  let said = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    said += text;
  });
  await eventually(() => {
    if (child.exitCode !== null) throw new Error(`tcpdump ended: ${said}`);
    return said.includes('listening on');
  });
  /** How many packets it has written, as it says when it is asked. */
  async function count(): Promise<number> {
    const counts = () => [...said.matchAll(/(\d+) packets? captured/g)].map(([, captured]) => Number(captured));
    const before = counts().length;
    await sleep(50);
    child.kill('SIGUSR1');
    return await eventually(() => counts()[before]);
  }

  return {
    async end() {
      // What has come is there once it has counted twice, and no more the second time: it is asked only when it has read what came before.
      for (let counted = await count(), before = -1; counted !== before; counted = await count()) before = counted;
      const ended = new Promise((resolve) => child.once('close', resolve));
      child.kill('SIGINT');
      await ended;
      if (!/^0 packets dropped by kernel/m.test(said)) throw new Error(`tcpdump has not seen everything: ${said}`);
      const text = execFileSync('tcpdump', ['-nn', '-tt', '-r', file], {
        encoding: 'utf8',
        stdio: ['ignore', 'pipe', 'ignore'],
      });
      return text.split('\n').flatMap(readLine);
    },
  };
}

/** Pure. */
export function readLine(line: string): Seen[] {
  if (line === '' || OF_THE_CABLE.test(line)) return [];
  const [, at = '', , to = '', rest = ''] = LINE.exec(line) ?? [];
  const at_ms = Number(at) * 1_000;
  const question = QUESTION.exec(rest)?.[1];
  if (at === '') throw new Error(`tcpdump printed ${line}`);
  if (question !== undefined) return [{ at_ms, what: `name ${question}` }];
  const [, address = to, port] = /^(.*)\.(\d+)$/.exec(to) ?? [];
  if (rest.startsWith('ICMP')) return [{ at_ms, what: `icmp ${to}` }];
  return [{ at_ms, what: `${rest.startsWith('Flags') ? 'tcp' : 'udp'} ${address}:${port}` }];
}
