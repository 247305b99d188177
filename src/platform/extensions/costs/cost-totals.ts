// Reads sums and lines out of the ledger of costs.
import type { CostTotal, HeldCost } from '../../../contract/extension-cost-totals.ts';
import type { Sql, SqlValue } from '../../storage/storage.ts';
import { DAY_MS } from './cost-days.ts';

export interface StoredCost {
  readonly id: number;
  readonly from_ms: number;
  readonly to_ms: number;
  readonly amount: number;
  readonly currency: string;
  readonly description: string;
}

/** Days of UTC as in `2026-01-31`, by the begin of a line. All when absent. */
export interface CostPeriod {
  readonly since?: string | undefined;
  readonly until?: string | undefined;
}

export interface CostFilter extends CostPeriod {
  readonly provider?: string | undefined;
  /** The name of the organization. */
  readonly organization?: string | undefined;
}

export interface CostReader {
  /** The lines of an extension that are billed, in the order in which they came. */
  listLines(extension_id: string, period: CostPeriod, after: number, limit: number): Promise<readonly StoredCost[]>;
  sumLines(extension_id: string, period: CostPeriod): Promise<readonly Pick<StoredCost, 'currency' | 'amount'>[]>;
  sum(filter: CostFilter): Promise<readonly CostTotal[]>;
  /** The held lines of all organizations: such a line may be nobody's. */
  sumHeld(filter: CostFilter): Promise<readonly HeldCost[]>;
}

const whole = (column: string) => `CAST(COALESCE(sum(${column}), 0) AS BIGINT) AS ${column}`;

export function createCostReader(sql: Sql): CostReader {
  return {
    listLines(extension_id, period, after, limit) {
      const where = toWhere([['extension_id =', extension_id], ['id >', after], ...toPeriod(period)]);
      return sql.all<StoredCost>(
        `SELECT id, from_ms, to_ms, amount, currency, description FROM extension_costs
         WHERE held IS NULL AND ${where.text} ORDER BY id LIMIT $${where.values.length + 1}`,
        [...where.values, limit],
      );
    },
    sumLines(extension_id, period) {
      const where = toWhere([['extension_id =', extension_id], ...toPeriod(period)]);
      return sql.all(
        `SELECT currency, ${whole('amount')} FROM extension_costs WHERE held IS NULL AND ${where.text}
         GROUP BY currency ORDER BY currency`,
        where.values,
      );
    },
    async sum({ provider, organization, ...period }) {
      const where = toWhere([['provider =', provider], ['organization =', organization], ...toPeriod(period)]);
      const rows = await sql.all<Omit<CostTotal, 'payout'>>(
        `SELECT provider, organization, currency, count(*) AS items, ${whole('amount')}, ${whole('share')}
         FROM extension_costs WHERE held IS NULL AND ${where.text}
         GROUP BY provider, organization, currency ORDER BY provider, organization, currency`,
        where.values,
      );
      return rows.map((row) => ({ ...row, payout: row.amount - row.share }));
    },
    sumHeld({ provider, since, until }) {
      const where = toWhere([['provider =', provider], ...toPeriod({ since, until })]);
      return sql.all(
        `SELECT provider, currency, held AS reason, count(*) AS items, ${whole('amount')}
         FROM extension_costs WHERE held IS NOT NULL AND ${where.text}
         GROUP BY provider, currency, held ORDER BY provider, currency, held`,
        where.values,
      );
    },
  };
}

type Condition = readonly [left: string, value: SqlValue | undefined];

function toPeriod({ since, until }: CostPeriod): Condition[] {
  return [
    ['from_ms >=', since === undefined ? undefined : Date.parse(since)],
    ['from_ms <', until === undefined ? undefined : Date.parse(until) + DAY_MS],
  ];
}

/** Leaves out the conditions without a value. */
function toWhere(conditions: readonly Condition[]): { readonly text: string; readonly values: readonly SqlValue[] } {
  const values: SqlValue[] = [];
  const parts = conditions.flatMap(([left, value]) => {
    if (value === undefined) return [];
    values.push(value);
    return [`${left} $${values.length}`];
  });
  return { text: ['1 = 1', ...parts].join(' AND '), values };
}
