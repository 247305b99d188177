// Requests to the thread that owns gateway-log.db, and its answers: plain data that is copied between threads.
import type { GatewayRecord } from '../../../contract/local/gateway.ts';
import type { DatabaseLink } from '../../database-thread/database-thread.ts';
import type { AuditPart } from './audit-block.ts';

/** A record as the gateway makes it; its number, its time and the count of equal ones are added later. */
export type AuditEntry = Omit<GatewayRecord, 'seq' | 'time' | 'usage_known' | 'count'>;

/** The kinds of records that share room: calls that were sent, calls that the policy blocked, and all others. */
export type AuditBudget = 'sent' | 'blocked' | 'refused';

export function budgetOf({ decision, code, ended }: AuditEntry): AuditBudget {
  if (decision === 'deny') return 'blocked';
  // A limit refuses calls that the policy allows, as often as a caller tries: they count as refused.
  return decision === 'allow' && (ended !== null || code !== 'too_many_requests') ? 'sent' : 'refused';
}

/** The columns of a row, except its number. `time` is in Unix milliseconds. */
export const auditColumns = [
  'time',
  'provider',
  'connector_id',
  'method',
  'path',
  'decision',
  'code',
  'rule',
  'status',
  'ended',
  'request_bytes',
  'response_bytes',
  'ms',
  'input_tokens',
  'output_tokens',
  'count',
  'budget',
] as const satisfies readonly ('time' | 'count' | 'budget' | keyof AuditEntry)[];

/** The values of `auditColumns` in order. Their names would cost more to copy than the values. */
export type AuditRow = readonly (string | number | null)[];

const PATH_MAX = 2_048;

const TIME = auditColumns.indexOf('time');
const COUNT = auditColumns.indexOf('count');
const BUDGET = auditColumns.indexOf('budget');

export function toAuditRow(entry: AuditEntry, time: number, count = 1): AuditRow {
  const { provider, connector_id, method, path, decision, code, rule, status, ended } = entry;
  const { request_bytes, response_bytes, ms, input_tokens, output_tokens } = entry;
  const call = [provider, connector_id, method, path.slice(0, PATH_MAX), decision, code, rule, status, ended] as const;
  return [time, ...call, request_bytes, response_bytes, ms, input_tokens, output_tokens, count, budgetOf(entry)];
}

export const timeOfRow = (row: AuditRow) => Number(row[TIME]);
export const countOfRow = (row: AuditRow) => Number(row[COUNT]);
export const budgetOfRow = (row: AuditRow) => row[BUDGET] as AuditBudget;

export type AuditRequest =
  | { readonly type: 'write'; readonly parts: readonly AuditPart[] }
  /** Asks for the rows after number `after`, oldest first; without it for the newest. */
  | { readonly type: 'page'; readonly limit: number; readonly after: number | undefined };

export type AuditAnswer =
  /** `problem` says why the written rows will not survive this process. */
  | { readonly type: 'written'; readonly problem: string | undefined }
  | { readonly type: 'page'; readonly records: GatewayRecord[] }
  | { readonly type: 'failed'; readonly message: string };

export type AuditLink = DatabaseLink<AuditRequest, AuditAnswer>;
