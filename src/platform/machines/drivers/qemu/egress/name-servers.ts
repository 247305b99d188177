// The name servers that a machine with a way out gets: those of the host that it reaches. Pure.
import { isIPv4 } from 'node:net';
import { parseNameServers } from '../../../../../core/dns/name-servers.ts';
import { toAddressBytes } from '../../../../../core/network-policy/address-ranges.ts';
import { isBlockedAddress } from '../../../../../core/network-policy/blocked-addresses.ts';

/** A resolver asks no more. */
const MOST = 3;

/** `text`: the host's resolv.conf. Empty when the host asks only servers that are its own or of its network. */
export function toNameServers(text: string): string[] {
  return parseNameServers(text).filter(isReached).slice(0, MOST);
}

function isReached(address: string): boolean {
  const bytes = isIPv4(address) ? toAddressBytes(address) : undefined;
  return bytes !== undefined && !isBlockedAddress(bytes);
}
