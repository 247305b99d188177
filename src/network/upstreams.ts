// The name servers that this machine was given, for the resolver that stands before them.
import { readFileSync } from 'node:fs';
import { BlockList, isIP, isIPv6 } from 'node:net';
import { parseNameServers } from '../core/dns/name-servers.ts';

const FILES = ['/etc/resolv.conf', '/run/systemd/resolve/resolv.conf'] as const;
/** The resolver of the C library takes as many. */
const SERVERS_MAX = 3;

const loopback = new BlockList();
loopback.addSubnet('127.0.0.0', 8);
loopback.addAddress('::1', 'ipv6');

/** The addresses of `nameserver` lines, without one of this machine: what asks there comes back here. Pure. */
export function parseUpstreams(text: string): string[] {
  return parseNameServers(text)
    .map((address) => address.replace(/%.*$/, ''))
    .filter((address) => isIP(address) !== 0 && !loopback.check(address, isIPv6(address) ? 'ipv6' : 'ipv4'))
    .slice(0, SERVERS_MAX);
}

/** Where a resolver of this machine stands in /etc/resolv.conf, the servers are those that systemd-resolved was given. */
export function readUpstreams(files: readonly string[] = FILES): string[] {
  for (const file of files) {
    const found = parseUpstreams(read(file));
    if (found.length > 0) return found;
  }
  return [];
}

function read(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
