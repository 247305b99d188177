// Who carries out which step: a claim ends by itself, so that a platform process that dies holds nothing up, and what it did after the end
// of its claim is not recorded.
import { randomHex } from '../../core/urandom.ts';
import { isDue } from '../provider-calls/is-due.ts';
import type { Sql } from '../storage/storage.ts';
import { type ExtensionRow, parseExtensionRow, type StoredExtension } from './extension-row.ts';

export interface ExtensionClaims {
  /**
   * Records that the step of this extension is being tried now: the intent, before the request. Undefined when there is nothing due, or
   * another process is at it.
   */
  claim(id: string, now_ms: number): Promise<ExtensionRow | undefined>;
  /** The ids of what is due, the oldest first, without those of the providers in `busy`. */
  listDue(now_ms: number, busy: readonly string[], limit: number): Promise<readonly DueExtension[]>;
  /** When the next step is due that nobody has claimed; undefined when none is. */
  nextDue(busy: readonly string[]): Promise<number | undefined>;
}

export interface DueExtension {
  readonly id: string;
  readonly provider: string;
}

/** Longer than the deadline of any request, twice over: after a refused secret the previous one is tried. */
export const CLAIM_MS = 75_000;
const CLAIM_BYTES = 8;

/** `host` names this platform process. */
export function createExtensionClaims(sql: Sql, host: string): ExtensionClaims {
  return {
    async claim(id, now_ms) {
      const text = `UPDATE extensions SET claim = $2, claim_until = $3, tries = tries + 1, updated_at = $4,
          asked = CASE WHEN step = 'provision' THEN 1 ELSE asked END,
          state = CASE WHEN state = 'requested' THEN 'provisioning' ELSE state END
        WHERE id = $1 AND ${isOpen('$4')} RETURNING *`;
      const values = [id, `${host}/${randomHex(CLAIM_BYTES)}`, now_ms + CLAIM_MS, now_ms];
      const claimed = await sql.one<StoredExtension>(text, values);
      return claimed === undefined ? undefined : parseExtensionRow(claimed);
    },
    listDue(now_ms, busy, limit) {
      const text = `SELECT id, provider FROM extensions WHERE ${isOpen('$1')}${without(busy, 3)} ORDER BY due_at LIMIT $2`;
      return sql.all<DueExtension>(text, [now_ms, limit, ...busy]);
    },
    async nextDue(busy) {
      const text = `SELECT min(CASE WHEN claim_until > due_at THEN claim_until ELSE due_at END) AS due
        FROM extensions WHERE step IS NOT NULL${without(busy, 1)}`;
      return (await sql.one<{ readonly due: number | null }>(text, busy))?.due ?? undefined;
    },
  };
}

/** Ends the claims of an earlier process with this name: there is only one at a time. */
export async function endOwnClaims(sql: Sql, host: string): Promise<void> {
  const text =
    "UPDATE extensions SET claim = NULL, claim_until = NULL WHERE step IS NOT NULL AND claim LIKE $1 || '/%'";
  await sql.run(text, [host]);
}

function isOpen(now: string): string {
  return `step IS NOT NULL AND ${isDue('due_at', now)} AND (claim_until IS NULL OR ${isDue('claim_until', now)})`;
}

function without(busy: readonly string[], from: number): string {
  if (busy.length === 0) return '';
  return ` AND provider NOT IN (${busy.map((_, index) => `$${from + index}`).join(', ')})`;
}
