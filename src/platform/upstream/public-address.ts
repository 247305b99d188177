// Which addresses a connector's own URL may lead to: the public internet, and nothing that is private to this machine or its
// network, however it is written. Pure.
import ipaddr from 'ipaddr.js';

/** False also for what is no address. Mapped, translated and tunnelled addresses are refused whatever they hold. */
export function isPublicAddress(address: string): boolean {
  if (!ipaddr.isValid(address)) return false;
  return ipaddr.parse(address).range() === 'unicast';
}
