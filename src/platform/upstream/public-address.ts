// Decides whether a connector's own URL may lead to an address: only to the public internet, never to this machine or its network, however
// the address is written. Pure.
import { toAddressBytes } from '../../core/network-policy/address-ranges.ts';
import { isBlockedAddress } from '../../core/network-policy/blocked-addresses.ts';

/** False also for text that is no address. Mapped and tunnelled addresses are refused whatever they embed. */
export function isPublicAddress(address: string): boolean {
  const bytes = toAddressBytes(address);
  return bytes !== undefined && !isBlockedAddress(bytes);
}
