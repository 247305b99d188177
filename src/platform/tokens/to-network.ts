// Whose address it is, for limits: an IPv4 address, or the network of an IPv6 address, because one customer has too many of those.
import { isIPv6 } from 'node:net';

/** The address itself for IPv4, also where it is written as IPv6; the first 64 bits for IPv6. */
export function toNetwork(address: string): string {
  const plain = address.startsWith('::ffff:') ? address.slice(7) : address;
  if (!isIPv6(plain)) return plain;
  const [head = ''] = plain.split('::');
  return head.split(':').slice(0, 4).join(':');
}
