// The figures of the platform as Prometheus text: what was called and how it ended, and how much there is of everything. No name of
// an organization, a sprite or a connector is in them.
import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { RefreshOutcome } from '../connectors/credentials.ts';
import type { Storage } from '../storage/storage.ts';

export interface PlatformMetrics {
  /** `operation` is the id of a row of the contract. */
  countCall(operation: string, status: number, seconds: number): void;
  countRefresh(outcome: RefreshOutcome): void;
  /** Prometheus text format 0.0.4. */
  toText(): Promise<string>;
}

const BUCKETS_S = [0.001, 0.005, 0.025, 0.1, 0.5, 2.5, 10, 60];

export function createPlatformMetrics(storage: Pick<Storage, 'all' | 'size_bytes'>, version: string): PlatformMetrics {
  const registry = new Registry();
  const registers = [registry];
  const calls = new Counter({
    name: 'remora_platform_calls_total',
    help: 'Calls that are over, by operation and status.',
    labelNames: ['operation', 'status'],
    registers,
  });
  const seconds = new Histogram({
    name: 'remora_platform_call_seconds',
    help: 'How long calls took, from the first to the last byte.',
    labelNames: ['operation'],
    buckets: BUCKETS_S,
    registers,
  });
  const refreshes = new Counter({
    name: 'remora_platform_token_refreshes_total',
    help: 'Renewals of OAuth tokens by how they ended.',
    labelNames: ['outcome'],
    registers,
  });
  new Gauge({ name: 'remora_platform_info', help: 'Version of the platform.', labelNames: ['version'], registers }).set(
    { version },
    1,
  );
  const count = (name: string, help: string, label: string, sql: string) => {
    new Gauge({
      name,
      help,
      labelNames: [label],
      registers,
      async collect() {
        const rows = await storage.all<{ readonly label: string; readonly count: number }>(sql);
        this.reset();
        for (const row of rows) this.set({ [label]: row.label }, row.count);
      },
    });
  };
  count(
    'remora_platform_machines',
    'Machines by state.',
    'state',
    'SELECT state AS label, count(*) AS count FROM machines GROUP BY state',
  );
  count(
    'remora_platform_connectors',
    'Connectors by the way they were made.',
    'type',
    'SELECT connection_type AS label, count(*) AS count FROM connectors GROUP BY connection_type',
  );
  count(
    'remora_platform_records',
    'Records by kind.',
    'kind',
    `SELECT 'organizations' AS label, count(*) AS count FROM organizations
     UNION ALL SELECT 'sprites', count(*) FROM sprites UNION ALL SELECT 'tokens', count(*) FROM tokens`,
  );
  new Gauge({
    name: 'remora_platform_resident_memory_bytes',
    help: 'Memory that the platform holds.',
    registers,
    collect() {
      this.set(process.memoryUsage.rss());
    },
  });
  new Gauge({
    name: 'remora_platform_database_bytes',
    help: 'Size of the database without its log.',
    registers,
    async collect() {
      this.set(await storage.size_bytes());
    },
  });
  return {
    countCall(operation, status, took_s) {
      calls.inc({ operation, status: String(status) });
      seconds.observe({ operation }, took_s);
    },
    countRefresh: (outcome) => refreshes.inc({ outcome }),
    toText: () => registry.metrics(),
  };
}
