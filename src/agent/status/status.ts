// The operations about the daemon itself: health, readiness, status, metrics and the description of its interface.

import type { statusOperations } from '../../contract/local/status.ts';
import type { Operations } from '../../contract/operation.ts';
import { type Clock, toDateTime } from '../../core/clock.ts';
import { type Handlers, Reply } from '../../http/handler.ts';
import type { Config } from '../config/load-config.ts';
import type { CallCounts } from '../gateway/call-metrics.ts';
import type { PartBoard } from '../parts.ts';
import { health } from './health.ts';
import type { OwnCostMeter } from './own-cost.ts';

export interface StatusOptions {
  readonly version: string;
  readonly clock: Clock;
  readonly config: Config;
  readonly board: PartBoard;
  readonly cost: OwnCostMeter;
  readonly operations: () => Operations;
  /** The figures that only the running agent knows. */
  readonly live: () => {
    readonly generation: number;
    readonly incarnation: string;
    readonly state: 'awake' | 'preparing' | 'fenced' | 'resuming';
    readonly streams: number;
    readonly seq: number;
    readonly gatewayCalls: CallCounts;
  };
  /** Apart from the figures, because a replica of many databases takes a while to tell. */
  readonly details: () => Promise<Record<string, unknown>>;
}

export function createStatus(options: StatusOptions): Handlers<typeof statusOperations, unknown> {
  const { board, clock, config, cost } = options;
  const startedWall_ms = clock.wall_ms();
  const startedMono_ms = clock.mono_ms();
  const warnings = () => config.warnings.map((warning) => ({ ...warning }));

  return {
    health,
    ready() {
      const status = board.overall;
      return new Reply(status === 'not_ready' ? 503 : 200, { status, parts: board.statuses(), warnings: warnings() });
    },
    async status() {
      const details = await options.details();
      const live = options.live();
      return {
        version: options.version,
        pid: process.pid,
        node: process.version,
        identity: { app: config.app ?? null, machine: config.machine ?? null, sprite: config.sprite ?? null },
        started_at: toDateTime(startedWall_ms),
        uptime_ms: Math.round(clock.mono_ms() - startedMono_ms),
        generation: live.generation,
        incarnation: live.incarnation,
        state: live.state,
        parts: board.statuses(),
        warnings: warnings(),
        streams: live.streams,
        details,
        cost: cost.read(),
      };
    },
    async metrics() {
      const { toMetrics } = await import('./metrics.ts');
      const live = options.live();
      return toMetrics({ ...live, version: options.version, parts: board.statuses(), cost: cost.read() });
    },
    async openapi() {
      const { toOpenApi } = await import('../../http/openapi.ts');
      const info = { title: 'Remora agent', version: options.version };
      return toOpenApi(options.operations(), info, {
        servers: [{ url: 'http://remora', description: 'over the Unix socket, with any host name' }],
        bearer: { description: 'a capability token, on the loopback listener only', isOptional: true },
      });
    },
  };
}
