// What is asked of the thread that owns gateway-log.db, and what it answers: plain data that is copied between threads.
import type { GatewayRecord } from '../../contract/local/gateway.ts';

/** A record as the gateway gives it; its number and its time are put in later. */
export type AuditEntry = Omit<GatewayRecord, 'seq' | 'time' | 'usage_known'>;

/** The columns of a row, but for its number. `time` in Unix milliseconds. */
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
] as const satisfies readonly ('time' | keyof AuditEntry)[];

/** The values of `auditColumns`, without their names: those cost more to copy and to store than what they name. */
export type AuditRow = readonly (string | number | null)[];

const PATH_MAX = 2_048;

export function toAuditRow(entry: AuditEntry, time: number): AuditRow {
  const { provider, connector_id, method, path, decision, code, rule, status, ended } = entry;
  const { request_bytes, response_bytes, ms, input_tokens, output_tokens } = entry;
  const call = [provider, connector_id, method, path.slice(0, PATH_MAX), decision, code, rule, status, ended] as const;
  return [time, ...call, request_bytes, response_bytes, ms, input_tokens, output_tokens];
}

export type AuditRequest =
  | { readonly type: 'write'; readonly rows: readonly AuditRow[] }
  /** After `after`, oldest first; without it the newest. */
  | { readonly type: 'page'; readonly limit: number; readonly after: number | undefined };

export type AuditAnswer =
  /** `problem`: why what was written will not survive this process. */
  | { readonly type: 'written'; readonly problem: string | undefined }
  | { readonly type: 'page'; readonly records: GatewayRecord[] }
  | { readonly type: 'failed'; readonly message: string };

/** The way to the thread. Answers come in the order of the requests. Rejects when the thread died. */
export interface AuditLink extends AsyncDisposable {
  ask(request: AuditRequest): Promise<AuditAnswer>;
  /** Closes the file and ends the thread, until the next request. What only memory holds stays. */
  rest(): Promise<void>;
}
