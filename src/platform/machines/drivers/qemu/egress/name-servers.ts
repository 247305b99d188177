// The name servers that a machine with a way out gets: those of the host that it reaches. Pure.
import { BlockList, isIPv4 } from 'node:net';
import { closedRanges } from './egress-rules.ts';

/** As many as a resolver asks. */
const MOST = 3;

/** `text`: the host's resolv.conf. Empty when the host asks only servers that are its own or of its network. */
export function toNameServers(text: string): string[] {
  const closed = new BlockList();
  for (const range of closedRanges) {
    const [address = '', bits = '32'] = range.split('/');
    closed.addSubnet(address, Number(bits), 'ipv4');
  }
  return text
    .split('\n')
    .map((line) => /^\s*nameserver\s+(\S+)/.exec(line)?.[1] ?? '')
    .filter((address) => isIPv4(address) && !closed.check(address, 'ipv4'))
    .slice(0, MOST);
}
