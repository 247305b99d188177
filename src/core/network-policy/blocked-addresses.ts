// The addresses that no name may lead to: everything that is not of the public internet, however it is written in IPv6. The way out of
// a virtual machine, the connectors of the platform and the network policy of a sprite go by this one list. Pure.
import { type AddressBytes, compileRanges, toAddressBytes, toAddressText } from './address-ranges.ts';

/**
 * RFC 6890, and the address at which the hosts of Azure answer their machines. Those of other providers' metadata are in the ranges of
 * link-local (169.254.169.254) and shared addresses (100.100.100.200). None overlaps another.
 */
const ipv4 = [
  ...['0.0.0.0/8', '10.0.0.0/8', '100.64.0.0/10', '127.0.0.0/8', '168.63.129.16/32', '169.254.0.0/16', '172.16.0.0/12'],
  ...['192.0.0.0/24', '192.0.2.0/24', '192.31.196.0/24', '192.52.193.0/24', '192.88.99.0/24', '192.168.0.0/16'],
  ...['192.175.48.0/24', '198.18.0.0/15', '198.51.100.0/24', '203.0.113.0/24', '224.0.0.0/3'],
];

/** An IPv6 network without IPv4 reaches IPv4 addresses through it (RFC 6052): such an address is judged by the one that it embeds. */
const NAT64 = { address: '64:ff9b::', bits: 96 };

/**
 * Addresses are assigned from 2000::/3 alone. Outside it are loopback, link-local, unique-local (fd00:ec2::254 among them), multicast and
 * mapped addresses; in it protocol assignments with Teredo, documentation, 6to4, and servers that are on every network.
 */
const ipv6 = [
  ...cutOut('::/3', NAT64),
  ...ipv4.map(toTranslated),
  ...['2001::/23', '2001:db8::/32', '2002::/16', '2620:4f:8000::/48', '3fff::/20', '4000::/2', '8000::/1'],
];

/** The ranges as CIDRs, none of which overlaps another. */
export const blockedRanges: { readonly ipv4: readonly string[]; readonly ipv6: readonly string[] } = { ipv4, ipv6 };

/** True also for what has neither four nor sixteen bytes. */
export function isBlockedAddress(address: AddressBytes): boolean {
  return address.length === 4 ? isBlockedV4(address) : address.length !== 16 || isBlockedV6(address);
}

const isBlockedV4 = compileRanges(ipv4);
const isBlockedV6 = compileRanges(ipv6);

function toTranslated(cidr: string): string {
  const [address = '', bits] = cidr.split('/');
  const bytes = toBytes(NAT64.address);
  bytes.set(toBytes(address), 12);
  return `${toAddressText(bytes)}/${NAT64.bits + Number(bits)}`;
}

/** The range without the hole: on the way from the one to the other, each half that does not hold the hole. */
function cutOut(range: string, hole: { readonly address: string; readonly bits: number }): string[] {
  const from = Number(range.split('/')[1]);
  return Array.from({ length: hole.bits - from }, (_, index) => {
    const bits = from + index + 1;
    const bytes = toBytes(hole.address);
    const [at, bit] = [(bits - 1) >>> 3, 0x80 >>> ((bits - 1) & 7)];
    // The bits before stay, this one is the other one, and those after are zero.
    bytes[at] = ((bytes[at] ?? 0) & ~(bit - 1)) ^ bit;
    bytes.fill(0, at + 1);
    return `${toAddressText(bytes)}/${bits}`;
  });
}

function toBytes(address: string): AddressBytes {
  const bytes = toAddressBytes(address);
  if (bytes === undefined) throw new Error(`${address} is no address`);
  return bytes;
}
