// Decides whether a connector's own URL may lead to an address: only to the public internet, never to this machine or its network, however
// the address is written. Pure.
import ipaddr from 'ipaddr.js';

/** A public address by its range, but the host of a virtual machine of Azure answers it. */
const PLATFORM_V4 = '168.63.129.16';
/** The range from which IPv6 addresses are assigned. Unassigned ranges and most ranges that embed IPv4 addresses lie outside. */
const GLOBAL_V6 = ipaddr.IPv6.parseCIDR('2000::/3');

/** False also for text that is no address. Mapped, translated and tunnelled addresses are refused whatever they embed. */
export function isPublicAddress(address: string): boolean {
  if (address.includes('%') || !ipaddr.isValid(address)) return false;
  const parsed = ipaddr.parse(address);
  if (parsed.range() !== 'unicast') return false;
  return parsed instanceof ipaddr.IPv6 ? parsed.match(GLOBAL_V6) : parsed.toString() !== PLATFORM_V4;
}
