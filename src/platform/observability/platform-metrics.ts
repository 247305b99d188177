// The metrics of the platform as Prometheus text: calls by status, numbers of sprites, machines and other records, and requests through the
// proxy by app. They hold no other name of an organization, a sprite or a connector.
import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import { type Hold, LoopWatch } from '../../http/loop-watch.ts';
import type { RefreshOutcome } from '../connectors/renewals.ts';
import { type Storage, StorageFailure } from '../storage/storage.ts';
import { addChannelMetrics, type ChannelCounts } from './channel-metrics.ts';

export interface PlatformMetrics extends Disposable {
  /** The watch of the event loop; `enter` says which operation runs. */
  readonly loop: Pick<LoopWatch, 'enter'>;
  /** `operation` is the id of an operation of the contract. */
  countCall(operation: string, status: number, seconds: number): void;
  countRefresh(outcome: RefreshOutcome): void;
  /** Shows the requests that came through the proxy: app, kind of answer, count. */
  showRequests(totals: () => Iterable<readonly [app: string, kind: string, count: number]>): void;
  /** Shows the channels of machines, with their streams and lanes. */
  showChannels(read: () => ChannelCounts): void;
  /** Prometheus text format 0.0.4. While the database cannot be asked, only the metrics that do not need it. */
  toText(): Promise<string>;
}

const BUCKETS_S = [0.001, 0.005, 0.025, 0.1, 0.5, 2.5, 10, 60];

/** `onHold` runs after an operation has blocked the event loop for more than 100 ms. */
export function createPlatformMetrics(
  storage: Pick<Storage, 'all' | 'size_bytes'>,
  version: string,
  onHold: (hold: Hold) => void = () => undefined,
): PlatformMetrics {
  const loop = new LoopWatch(onHold);
  loop.start();
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
  const up = new Gauge({
    name: 'remora_database_up',
    help: '1 while the database can be asked. At 0 the figures that come from it are missing.',
    registers,
  });
  const fromDatabase = openDatabaseGauges(storage, registers);
  new Gauge({
    name: 'remora_platform_loop_longest_hold_seconds',
    help: 'The longest time for which one operation kept everything else from running, since the start.',
    labelNames: ['operation'],
    registers,
    collect() {
      const { ms, operation } = loop.longest;
      this.reset();
      this.set({ operation: operation ?? 'none' }, ms / 1_000);
    },
  });
  new Gauge({
    name: 'remora_platform_resident_memory_bytes',
    help: 'Memory that the platform holds.',
    registers,
    collect() {
      this.set(process.memoryUsage.rss());
    },
  });
  return {
    loop,
    [Symbol.dispose]: () => loop[Symbol.dispose](),
    countCall(operation, status, took_s) {
      calls.inc({ operation, status: String(status) });
      seconds.observe({ operation }, took_s);
    },
    countRefresh: (outcome) => refreshes.inc({ outcome }),
    showRequests(totals) {
      new Counter({
        name: 'remora_proxy_requests_total',
        help: 'Requests through the proxy that are over, by app and kind of answer.',
        labelNames: ['app', 'answer'],
        registers,
        collect() {
          this.reset();
          for (const [app, answer, count] of totals()) this.inc({ app, answer }, count);
        },
      });
    },
    showChannels: (read) => addChannelMetrics(registers, read),
    async toText() {
      up.set((await fromDatabase.refresh()) ? 1 : 0);
      return await registry.metrics();
    },
  };
}

interface DatabaseGauges {
  /** False when the database cannot be asked: the metrics from it are then left out. */
  refresh(): Promise<boolean>;
}

const counts = [
  [
    'remora_platform_machines',
    'Machines by state.',
    'state',
    'SELECT state AS label, count(*) AS count FROM machines GROUP BY state',
  ],
  [
    'remora_platform_connectors',
    'Connectors by the way they were made.',
    'type',
    'SELECT connection_type AS label, count(*) AS count FROM connectors GROUP BY connection_type',
  ],
  [
    'remora_platform_records',
    'Records by kind.',
    'kind',
    `SELECT 'organizations' AS label, count(*) AS count FROM organizations
     UNION ALL SELECT 'sprites', count(*) FROM sprites WHERE machine_only = 0 UNION ALL SELECT 'tokens', count(*) FROM tokens`,
  ],
  [
    'remora_platform_provider_notices',
    'Notices to providers of extensions: those that wait, and what came of the others.',
    'state',
    `SELECT 'waiting' AS label, count(*) AS count FROM provider_notices
     UNION ALL SELECT 'delivered', CAST(COALESCE(sum(delivered), 0) AS BIGINT) FROM notice_totals
     UNION ALL SELECT 'dead', CAST(COALESCE(sum(dead), 0) AS BIGINT) FROM notice_totals
     UNION ALL SELECT 'dropped', CAST(COALESCE(sum(dropped), 0) AS BIGINT) FROM notice_totals`,
  ],
] as const;

function openDatabaseGauges(storage: Pick<Storage, 'all' | 'size_bytes'>, registers: Registry[]): DatabaseGauges {
  const gauges = counts.map(([name, help, label, sql]) => ({
    label,
    sql,
    gauge: new Gauge({ name, help, labelNames: [label], registers }),
  }));
  const size = new Gauge({
    name: 'remora_platform_database_bytes',
    help: 'Size of the database without its log.',
    registers,
  });

  async function ask(): Promise<void> {
    for (const { gauge, label, sql } of gauges) {
      const rows = await storage.all<{ readonly label: string; readonly count: number }>(sql);
      gauge.reset();
      for (const row of rows) gauge.set({ [label]: row.label }, row.count);
    }
    size.set(await storage.size_bytes());
  }

  return {
    async refresh() {
      try {
        await ask();
        return true;
      } catch (error) {
        if (!(error instanceof StorageFailure)) throw error;
        for (const { gauge } of gauges) gauge.reset();
        size.remove();
        return false;
      }
    },
  };
}
