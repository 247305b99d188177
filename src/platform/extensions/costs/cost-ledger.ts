// What extensions have cost, in whole minor units. Of one extension, currency and description no two lines are of the same time, so that
// an answer that comes again, or overlaps an earlier one, doubles nothing.
import type { Sql } from '../../storage/storage.ts';
import type { CostLine } from './cost-lines.ts';
import { toShare } from './cost-share.ts';

/** Whose a line is: the extension of a provider, here and there. */
export interface CostOwner {
  /** The id of the extension at the platform. */
  readonly id: string;
  readonly organization_id: string;
  /** The name of the organization, kept in the line for when it is gone. */
  readonly organization: string;
}

/** Why a line is not billed. `overlap`: it is of a time that another line covers in part. */
export type HeldReason = 'unknown_extension' | 'overlap';

export interface LedgerWrite {
  readonly provider: string;
  readonly line: CostLine;
  readonly owner: CostOwner | undefined;
  /** Hold it whatever the ledger has. */
  readonly held?: HeldReason | undefined;
  readonly share_bp: number;
  readonly now_ms: number;
}

export interface CostLedger {
  /** `full`: it would be held, and too many of the provider are held already. */
  write(write: LedgerWrite): Promise<'billed' | 'held' | 'full'>;
}

/** How many lines of a provider are held. */
export const HELD_MAX = 1_000;

interface Known {
  readonly id: number;
  readonly from_ms: number;
  readonly to_ms: number;
}

const sameKind = 'provider = $1 AND provider_extension_id = $2 AND currency = $3 AND description = $4';

/** `sql` is that of a transaction in the turn of the provider's ledger. */
export function createCostLedger(sql: Sql): CostLedger {
  const toKind = ({ provider, line }: LedgerWrite) => [provider, line.extension_id, line.currency, line.description];

  async function insert(write: LedgerWrite, held: HeldReason | null): Promise<void> {
    const { line, owner, share_bp, now_ms } = write;
    const share = held === null ? toShare(line.amount, share_bp) : 0;
    const whose = [owner?.id ?? null, owner?.organization_id ?? null, owner?.organization ?? null];
    await sql.run(
      `INSERT INTO extension_costs (provider, provider_extension_id, currency, description, from_ms, to_ms, amount, share_bp,
         share, held, fetched_at, extension_id, organization_id, organization)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)
       ON CONFLICT (provider, provider_extension_id, currency, description, from_ms, to_ms) DO UPDATE SET
         amount = excluded.amount, share_bp = excluded.share_bp, share = excluded.share, held = excluded.held,
         fetched_at = excluded.fetched_at, extension_id = excluded.extension_id,
         organization_id = excluded.organization_id, organization = excluded.organization`,
      [...toKind(write), line.from, line.to, line.amount, share_bp, share, held, now_ms, ...whose],
    );
  }

  async function hold(write: LedgerWrite, reason: HeldReason): Promise<'held' | 'full'> {
    const { provider, line } = write;
    const text = `SELECT count(*) AS count FROM extension_costs WHERE provider = $1 AND held IS NOT NULL
      AND NOT (provider_extension_id = $2 AND currency = $3 AND description = $4 AND from_ms = $5 AND to_ms = $6)`;
    const counted = await sql.one<{ readonly count: number }>(text, [...toKind(write), line.from, line.to]);
    if ((counted?.count ?? 0) >= HELD_MAX) return 'full';
    await insert({ ...write, provider }, reason);
    return 'held';
  }

  /** The lines of the same kind that are billed, of another period that has time in common with this one. */
  async function findOverlapping(write: LedgerWrite): Promise<readonly Known[]> {
    const { from, to } = write.line;
    const text = `SELECT id, from_ms, to_ms FROM extension_costs WHERE ${sameKind} AND held IS NULL
      AND from_ms < $6 AND to_ms > $5 AND NOT (from_ms = $5 AND to_ms = $6)`;
    return await sql.all<Known>(text, [...toKind(write), from, to]);
  }

  return {
    async write(write) {
      const { line, owner, held } = write;
      if (owner === undefined) return await hold(write, 'unknown_extension');
      if (held !== undefined) return await hold(write, held);
      const others = await findOverlapping(write);
      // A line that covers earlier ones states them once more; one that lies across them or within them would be billed twice.
      const isCovering = others.every(({ from_ms, to_ms }) => line.from <= from_ms && to_ms <= line.to);
      if (!isCovering) return await hold(write, 'overlap');
      for (const { id } of others) await sql.run('DELETE FROM extension_costs WHERE id = $1', [id]);
      await insert(write, null);
      return 'billed';
    },
  };
}
