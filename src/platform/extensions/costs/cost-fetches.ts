// When each provider is asked for costs, which days are still to be asked for, and how it went last.
import { isDue } from '../../provider-calls/is-due.ts';
import type { Sql } from '../../storage/storage.ts';

export interface CostFetch {
  readonly provider: string;
  /** Unix milliseconds, as every time here. */
  readonly next_at: number;
  /** The begin of the first day that is still asked for. */
  readonly unsettled_from: number;
  /** How many fetches have failed in a row. */
  readonly failures: number;
  readonly last_error: string | null;
  readonly last_success_at: number | null;
}

export interface CostFetches {
  /** The providers that have, or had, extensions and are to be asked now. */
  listDue(now_ms: number): Promise<readonly string[]>;
  /** When the next one is to be asked; undefined where none has been asked yet. */
  nextAt(): Promise<number | undefined>;
  find(provider: string): Promise<CostFetch | undefined>;
  list(): Promise<readonly CostFetch[]>;
  /** False when another platform process asks it, or has asked it meanwhile. */
  claim(provider: string, now_ms: number, until: number): Promise<boolean>;
  /** Makes a provider due that nobody asks now. */
  hasten(provider: string, now_ms: number): Promise<void>;
  /** It goes on being asked. */
  extend(provider: string, until: number): Promise<void>;
  succeed(provider: string, now_ms: number, next_at: number, unsettled_from: number): Promise<void>;
  fail(provider: string, error: string, next_at: number): Promise<void>;
}

/** Longer than the time from one round to the next. */
const AHEAD_MAX_MS = 10 * 3_600_000;

const select =
  'SELECT provider, next_at, unsettled_from, failures, last_error, last_success_at FROM extension_cost_fetches';

export function createCostFetches(sql: Sql): CostFetches {
  return {
    async listDue(now_ms) {
      const text = `SELECT p.name FROM extension_providers p LEFT JOIN extension_cost_fetches f ON f.provider = p.name
        WHERE ${isDue('COALESCE(f.next_at, 0)', '$1', AHEAD_MAX_MS)}
          AND EXISTS (SELECT 1 FROM extensions e WHERE e.provider = p.name)
        ORDER BY p.name`;
      return (await sql.all<{ readonly name: string }>(text, [now_ms])).map(({ name }) => name);
    },
    async nextAt() {
      const text = `SELECT min(f.next_at) AS at FROM extension_cost_fetches f
        WHERE EXISTS (SELECT 1 FROM extensions e WHERE e.provider = f.provider)`;
      return (await sql.one<{ readonly at: number | null }>(text))?.at ?? undefined;
    },
    find: (provider) => sql.one<CostFetch>(`${select} WHERE provider = $1`, [provider]),
    list: () => sql.all<CostFetch>(`${select} ORDER BY provider`),
    async claim(provider, now_ms, until) {
      const insert = `INSERT INTO extension_cost_fetches (provider, next_at, unsettled_from, failures)
        VALUES ($1, 0, 0, 0) ON CONFLICT DO NOTHING`;
      await sql.run(insert, [provider]);
      const text = `UPDATE extension_cost_fetches SET next_at = $3, asked_until = $3
        WHERE provider = $1 AND ${isDue('next_at', '$2', AHEAD_MAX_MS)}`;
      return (await sql.run(text, [provider, now_ms, until])) > 0;
    },
    async hasten(provider, now_ms) {
      const text = `UPDATE extension_cost_fetches SET next_at = $2 WHERE provider = $1 AND ${isDue('asked_until', '$2')}`;
      await sql.run(text, [provider, now_ms]);
    },
    async extend(provider, until) {
      const text = 'UPDATE extension_cost_fetches SET next_at = $2, asked_until = $2 WHERE provider = $1';
      await sql.run(text, [provider, until]);
    },
    async succeed(provider, now_ms, next_at, unsettled_from) {
      const text = `UPDATE extension_cost_fetches SET failures = 0, last_error = NULL, last_success_at = $2, next_at = $3,
        unsettled_from = $4, asked_until = 0 WHERE provider = $1`;
      await sql.run(text, [provider, now_ms, next_at, unsettled_from]);
    },
    async fail(provider, error, next_at) {
      const text = `UPDATE extension_cost_fetches SET failures = failures + 1, last_error = $2, next_at = $3,
        asked_until = 0 WHERE provider = $1`;
      await sql.run(text, [provider, error, next_at]);
    },
  };
}
