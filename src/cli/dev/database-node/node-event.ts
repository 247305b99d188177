// The lines that a database node sends on its event stream (Suspend and Replication, Event stream records). Pure.
import type { PrimaryStatus, ReplicationEvent } from '../../../contract/replication.ts';

/** The state of one database after a transaction. */
export interface NodeTransaction {
  readonly changeCounter: number;
  readonly checksum: string;
  readonly pageSize: number;
  /** Size of the database in pages. */
  readonly pageCount: number;
  readonly wall_ms: number;
}

/** `hostname` is the primary's, as `host:port`; absent on the primary itself and while no primary is known. */
export type NodeRole =
  | { readonly role: 'primary' }
  | { readonly role: 'replica'; readonly hostname: string | undefined };

export function toInitLine(role: NodeRole): string {
  return toLine({ type: 'init', data: toRoleData(role) });
}

export function toPrimaryChangeLine(role: NodeRole): string {
  return toLine({ type: 'primaryChange', data: toRoleData(role) });
}

export function toTransactionLine(db: string, transaction: NodeTransaction): string {
  const data = {
    txID: transaction.changeCounter.toString(16).padStart(16, '0'),
    postApplyChecksum: transaction.checksum,
    pageSize: transaction.pageSize,
    commit: transaction.pageCount,
    timestamp: toNodeTime(transaction.wall_ms),
  };
  return toLine({ type: 'tx', db, data });
}

/** RFC 3339 in UTC as Go prints it: trailing zeros of the fraction cut, no fraction when it is zero. */
export function toNodeTime(wall_ms: number): string {
  return new Date(wall_ms).toISOString().replace(/\.?0*Z$/, 'Z');
}

function toRoleData(role: NodeRole): PrimaryStatus {
  if (role.role === 'primary') return { isPrimary: true };
  return role.hostname === undefined ? { isPrimary: false } : { isPrimary: false, hostname: role.hostname };
}

function toLine(event: ReplicationEvent): string {
  return `${JSON.stringify(event)}\n`;
}
