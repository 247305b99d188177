// Who the primary is, as far as the node knows: this node, another one, or unknown.
import type { PrimaryStatus } from '../../contract/replication.ts';

export type Primary =
  | { readonly type: 'self' }
  | { readonly type: 'remote'; readonly hostname: string }
  | { readonly type: 'unknown' };

/** `isPrimary: false` without a hostname, and a record without `data`, mean that no primary is known. */
export function toPrimary(status: PrimaryStatus | undefined): Primary {
  if (status?.isPrimary === true) return { type: 'self' };
  if (status?.hostname === undefined || status.hostname === '') return { type: 'unknown' };
  return { type: 'remote', hostname: status.hostname };
}

/** The record that a node would send for it. */
export function toPrimaryStatus(primary: Primary): PrimaryStatus {
  switch (primary.type) {
    case 'self':
      return { isPrimary: true };
    case 'remote':
      return { isPrimary: false, hostname: primary.hostname };
    case 'unknown':
      return { isPrimary: false };
    default:
      return primary satisfies never;
  }
}

export function samePrimary(a: Primary, b: Primary): boolean {
  return a.type === b.type && hostnameOf(a) === hostnameOf(b);
}

/** The other node's name; `undefined` when this node is the primary or none is known. */
export function hostnameOf(primary: Primary): string | undefined {
  return primary.type === 'remote' ? primary.hostname : undefined;
}
