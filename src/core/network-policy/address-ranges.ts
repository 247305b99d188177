// Whether an address is in one of several ranges, by its bytes. Pure.
import ipaddr from 'ipaddr.js';

/** Four bytes of an IPv4 address, sixteen of an IPv6 address: the form in which answers of name servers hold them. */
export type AddressBytes = Uint8Array;

/** Undefined for text that is no address, and for one with a zone. */
export function toAddressBytes(text: string): AddressBytes | undefined {
  return text.includes('%') || !ipaddr.isValid(text) ? undefined : Uint8Array.from(ipaddr.parse(text).toByteArray());
}

/** The short form (RFC 5952). `bytes` are four or sixteen. */
export function toAddressText(bytes: AddressBytes): string {
  return ipaddr.fromByteArray([...bytes]).toString();
}

/** `cidrs` such as `10.0.0.0/8` and `fe80::/10`. Throws for what is none. */
export function compileRanges(cidrs: readonly string[]): (address: AddressBytes) => boolean {
  const ranges = cidrs.map((cidr) => {
    const [address, bits] = ipaddr.parseCIDR(cidr);
    return { bytes: Uint8Array.from(address.toByteArray()), bits };
  });
  return (address) => ranges.some(({ bytes, bits }) => isWithin(address, bytes, bits));
}

function isWithin(address: AddressBytes, range: Uint8Array, bits: number): boolean {
  if (address.length !== range.length) return false;
  const whole = bits >>> 3;
  for (let at = 0; at < whole; at += 1) if (address[at] !== range[at]) return false;
  const rest = 8 - (bits & 7);
  return rest === 8 || (address[whole] ?? 0) >>> rest === (range[whole] ?? 0) >>> rest;
}
