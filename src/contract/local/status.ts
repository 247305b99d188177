// What the daemon says of itself: health, readiness, status, metrics, and the description of its own interface.
import * as z from '../lazy-zod.ts';
import { defineLocalOperation } from '../operation.ts';
import { dateTime } from '../time.ts';

export const partNames = [
  'settings',
  'store',
  'machine',
  'channel',
  'gateway',
  'ports',
  'notices',
  'replication',
  'resume',
  'hooks',
  'supervisor',
  'network',
] as const;

/** `off`: its settings are absent. `degraded`: it serves, and `reason` says what it cannot do. `failed`: it does not serve. */
export const partState = z.enum(['off', 'starting', 'ok', 'degraded', 'failed']);

export const partStatus = z.object({
  state: partState,
  reason: z.string().optional(),
  since: dateTime,
});

export const partStatuses = z.record(z.enum(partNames), partStatus);

export const configWarning = z.object({ setting: z.string(), message: z.string() });

export const health = z.object({ status: z.literal('ok') });

/** `ready`: every part that is on is ok. `degraded`: all serve, some with a reason. `not_ready`: one is starting or failed. */
export const readiness = z.object({
  status: z.enum(['ready', 'degraded', 'not_ready']),
  parts: partStatuses,
  warnings: z.array(configWarning),
});

/** What the agent itself costs. CPU is counted in milliseconds of a core since the start. */
export const ownCost = z.object({
  rss_bytes: z.int(),
  heap_used_bytes: z.int(),
  cpu_user_ms: z.int(),
  cpu_system_ms: z.int(),
  loop_lag_p50_ms: z.number(),
  loop_lag_p99_ms: z.number(),
  /** The longest time for which nothing else could run, since the start. */
  longest_hold_ms: z.number(),
  /** The operation that took it; null when no operation ran at that time. */
  longest_hold_operation: z.string().nullable(),
  open_fds: z.int().nullable(),
});

export const agentStatus = z.object({
  version: z.string(),
  pid: z.int(),
  node: z.string(),
  identity: z.object({
    app: z.string().nullable(),
    machine: z.string().nullable(),
    sprite: z.string().nullable(),
  }),
  started_at: dateTime,
  uptime_ms: z.int(),
  generation: z.int(),
  incarnation: z.string(),
  state: z.enum(['awake', 'preparing', 'fenced', 'resuming']),
  parts: partStatuses,
  warnings: z.array(configWarning),
  streams: z.int(),
  /** Figures of each part: scan cost and period, signals that are live and what would be missed, and the like. */
  details: z.record(z.string(), z.unknown()),
  cost: ownCost,
});

export const statusOperations = {
  health: defineLocalOperation({
    method: 'GET',
    path: '/v1/health',
    summary: 'Whether the daemon answers; touches neither disk nor network',
    source: 'Remora',
    tag: 'status',
    servedAt: ['socket', 'readonly', 'loopback'],
    answer: { kind: 'json', status: 200, schema: health },
    errors: [],
  }),
  ready: defineLocalOperation({
    method: 'GET',
    path: '/v1/ready',
    summary: 'Whether every part that is switched on serves, and the state of each',
    source: 'Remora',
    tag: 'status',
    servedAt: ['socket', 'readonly', 'loopback'],
    answer: { kind: 'json', status: 200, schema: readiness, also: [503] },
    errors: [],
  }),
  status: defineLocalOperation({
    method: 'GET',
    path: '/v1/status',
    summary: 'Version, identity, uptime, generation, the state of each part, and what the agent itself costs',
    source: 'Remora',
    tag: 'status',
    servedAt: ['socket', 'readonly', 'loopback'],
    answer: { kind: 'json', status: 200, schema: agentStatus },
    errors: [],
  }),
  metrics: defineLocalOperation({
    method: 'GET',
    path: '/metrics',
    summary: 'The same figures as Prometheus text',
    source: 'Remora',
    tag: 'status',
    servedAt: ['socket', 'readonly', 'loopback'],
    answer: { kind: 'text', status: 200, type: 'text/plain; version=0.0.4; charset=utf-8' },
    errors: [],
  }),
  openapi: defineLocalOperation({
    method: 'GET',
    path: '/openapi.json',
    summary: 'This interface as OpenAPI 3.1',
    source: 'Remora',
    tag: 'status',
    servedAt: ['socket', 'readonly', 'loopback'],
    answer: { kind: 'json', status: 200, schema: z.record(z.string(), z.unknown()) },
    errors: [],
  }),
} as const;
