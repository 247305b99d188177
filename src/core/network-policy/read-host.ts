// Where a connection is to lead, as people write it: a name, or an address with or without brackets. Pure.
import ipaddr from 'ipaddr.js';
import { RemoraError } from '../remora-error.ts';
import { normalizeName } from './domain-name.ts';

export type Host =
  | { readonly type: 'address'; readonly address: string }
  | { readonly type: 'name'; readonly name: string };

/** Throws `invalid_request` for what is neither. */
export function readHost(host: string): Host {
  const address = host.replace(/^\[(.*)\]$/, '$1');
  if (ipaddr.IPv4.isValidFourPartDecimal(address) || ipaddr.IPv6.isValid(address)) return { type: 'address', address };
  const name = normalizeName(host);
  if (name === undefined) throw new RemoraError('invalid_request', `host: ${host} is neither a name nor an address`);
  return { type: 'name', name };
}
