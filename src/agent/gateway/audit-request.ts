// What is asked of the thread that owns gateway-log.db, and what it answers: plain data that is copied between threads.
import type { GatewayRecord } from '../../contract/local/gateway.ts';

/** A record as the gateway gives it; its number and its time are put in later. */
export type AuditEntry = Omit<GatewayRecord, 'seq' | 'time' | 'usage_known'>;

/** `time` in Unix milliseconds. */
export interface AuditRow extends AuditEntry {
  readonly time: number;
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
}
