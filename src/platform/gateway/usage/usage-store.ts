// Usage of the gateway, summed by day, connector and sprite. Keys are names and not references: sums stay when a connector or sprite is
// deleted.
import type { GatewayUsage } from '../../../contract/gateway-usage.ts';
import type { Sql, Storage } from '../../storage/storage.ts';

/** The key of one sum. */
export interface UsageKey {
  readonly organization_id: string;
  readonly day: string;
  readonly connector_id: string;
  readonly sprite: string;
  readonly provider: string;
}

export type UsageCounts = Omit<GatewayUsage, 'day' | 'connector_id' | 'provider'>;

export interface UsageQuery {
  readonly organization_id: string;
  /** Both days are included. */
  readonly since: string;
  readonly until: string;
  readonly connector_id?: string | undefined;
  readonly sprite?: string | undefined;
}

export interface UsageStore {
  /** Adds all entries or none. */
  add(entries: readonly (UsageKey & UsageCounts)[]): Promise<void>;
  /** Sorted by day, then by connector. */
  list(query: UsageQuery): Promise<readonly GatewayUsage[]>;
}

/** What is summed. */
export const usageSums = [
  'calls',
  'refused',
  'request_bytes',
  'response_bytes',
  'input_tokens',
  'output_tokens',
] as const;

/** How many rows go into one statement, where there are as many: a statement for each costs the server and this process ten times as much. */
const ROWS = 50;
const columns = ['organization_id', 'day', 'connector_id', 'sprite', 'provider', ...usageSums] as const;

function toUpsert(rows: number): string {
  const tuples = Array.from({ length: rows }, (_, row) => {
    return `(${columns.map((_name, column) => `$${row * columns.length + column + 1}`).join(', ')})`;
  });
  return `
INSERT INTO gateway_usage (${columns.join(', ')}) VALUES ${tuples.join(', ')}
ON CONFLICT (organization_id, day, connector_id, sprite) DO UPDATE SET
  ${usageSums.map((name) => `${name} = gateway_usage.${name} + excluded.${name}`).join(', ')}`;
}

const upsertOne = toUpsert(1);
const upsertMany = toUpsert(ROWS);

export function createUsageStore(storage: Pick<Storage, 'all' | 'transaction'>): UsageStore {
  return {
    async add(entries) {
      await storage.transaction(async (sql: Sql) => {
        for (const rows of toStatements(entries)) {
          const values = rows.flatMap((row) => columns.map((name) => row[name]));
          await sql.run(rows.length === ROWS ? upsertMany : upsertOne, values);
        }
      });
    },
    async list({ organization_id, since, until, connector_id, sprite }) {
      const values = [organization_id, since, until];
      const only = (column: string, value: string | undefined) =>
        value === undefined ? '' : ` AND ${column} = $${values.push(value)}`;
      const where = only('connector_id', connector_id) + only('sprite', sprite);
      return await storage.all<GatewayUsage>(
        `SELECT day, connector_id, min(provider) AS provider,
           ${usageSums.map((name) => `CAST(sum(${name}) AS BIGINT) AS ${name}`).join(', ')}
         FROM gateway_usage WHERE organization_id = $1 AND day >= $2 AND day <= $3${where}
         GROUP BY day, connector_id ORDER BY day, connector_id`,
        values,
      );
    },
  };
}

/** All processes write rows in the same order, so that two transactions never wait for one another. No statement has the same row twice. */
function toStatements<T extends UsageKey>(entries: readonly T[]): readonly (readonly T[])[] {
  const ordered = entries.map((entry) => ({ entry, order: toOrder(entry) }));
  ordered.sort((a, b) => (a.order < b.order ? -1 : 1));
  const statements: T[][] = [];
  for (let at = 0; at < ordered.length; ) {
    const next = ordered.slice(at, at + ROWS);
    const isWhole = next.length === ROWS && new Set(next.map(({ order }) => order)).size === ROWS;
    const taken = isWhole ? next : next.slice(0, 1);
    statements.push(taken.map(({ entry }) => entry));
    at += taken.length;
  }
  return statements;
}

function toOrder({ organization_id, day, connector_id, sprite }: UsageKey): string {
  return JSON.stringify([organization_id, day, connector_id, sprite]);
}
