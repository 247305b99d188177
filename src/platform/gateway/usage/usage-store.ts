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

const upsert = `
INSERT INTO gateway_usage (organization_id, day, connector_id, sprite, provider, ${usageSums.join(', ')})
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
ON CONFLICT (organization_id, day, connector_id, sprite) DO UPDATE SET
  ${usageSums.map((name) => `${name} = gateway_usage.${name} + excluded.${name}`).join(', ')}`;

export function createUsageStore(storage: Pick<Storage, 'all' | 'transaction'>): UsageStore {
  return {
    async add(entries) {
      await storage.transaction(async (sql: Sql) => {
        // All processes write rows in the same order, so that two transactions never wait for one another.
        for (const entry of entries.toSorted((a, b) => (toOrder(a) < toOrder(b) ? -1 : 1))) {
          const { organization_id, day, connector_id, sprite, provider } = entry;
          await sql.run(upsert, [
            organization_id,
            day,
            connector_id,
            sprite,
            provider,
            ...usageSums.map((name) => entry[name]),
          ]);
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

function toOrder({ organization_id, day, connector_id, sprite }: UsageKey): string {
  return JSON.stringify([organization_id, day, connector_id, sprite]);
}
