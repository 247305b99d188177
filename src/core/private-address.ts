// The private addresses of an organization: it has a /64 of its own in the range for networks that are nobody else's (RFC 4193), and in it an
// address for each machine and each extension. Pure.
import { createHash } from 'node:crypto';

/** The range of all of them. */
export const PRIVATE_RANGE = 'fdaa::/16';

const FIRST_GROUP = 'fdaa';
const NETWORK_BYTES = 6;
const HOST_BYTES = 8;

/** The same each time. `owner`: what has the address, by its id. */
export function toPrivateAddress(organization_id: string, owner: 'machine' | 'extension', id: string): string {
  const network = toGroups(`network ${organization_id}`, NETWORK_BYTES);
  return [FIRST_GROUP, ...network, ...toGroups(`${owner} ${id}`, HOST_BYTES)].join(':');
}

function toGroups(text: string, bytes: number): string[] {
  const hash = createHash('sha256').update(text).digest();
  return Array.from({ length: bytes / 2 }, (_, index) => hash.readUInt16BE(index * 2).toString(16));
}
