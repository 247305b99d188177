// What this host lacks to give machines a way out.
import { existsSync, readFileSync } from 'node:fs';

const ROOT = 0;
const FORWARDS = '/proc/sys/net/ipv4/ip_forward';
const TUN = '/dev/net/tun';

/** A sentence with what to do; undefined when nothing is missing. `hasTool`: whether a program is on the path. */
export function checkEgress(hasTool: (name: string) => boolean): string | undefined {
  if (process.getuid?.() !== ROOT) {
    return 'a way out for machines needs the user root, who makes their networks; run the platform as root, or leave --qemu-network at none';
  }
  if (!hasTool('nft')) return 'a way out for machines needs nftables: apt-get install nftables';
  if (!existsSync(TUN)) return `a way out for machines needs ${TUN}: modprobe tun`;
  if (readFileSync(FORWARDS, 'utf8').trim() !== '1') {
    return 'a way out for machines needs a host that forwards packets: sysctl -w net.ipv4.ip_forward=1';
  }
  return undefined;
}
