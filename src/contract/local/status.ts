// What the daemon says of itself: health, readiness, status, metrics, and the description of its own interface.
import { z } from 'zod';
import { defineOperation } from '../operation.ts';
import { dateTime } from '../time.ts';

export const partNames = [
  'settings',
  'store',
  'machine',
  'gateway',
  'ports',
  'notices',
  'replication',
  'resume',
  'hooks',
] as const;

/** `off`: its settings are absent. `degraded`: it serves, and `reason` says what it cannot do. `failed`: it does not serve. */
export const partState = z.enum(['off', 'starting', 'ok', 'degraded', 'failed']);

export const partReport = z.object({
  state: partState,
  reason: z.string().optional(),
  since: dateTime,
});

export const partReports = z.record(z.enum(partNames), partReport);

export const configWarning = z.object({ setting: z.string(), message: z.string() });

export const health = z.object({ status: z.literal('ok') });

/** `ready`: every part that is on is ok. `degraded`: all serve, some with a reason. `not_ready`: one is starting or failed. */
export const readiness = z.object({
  status: z.enum(['ready', 'degraded', 'not_ready']),
  parts: partReports,
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
  parts: partReports,
  warnings: z.array(configWarning),
  streams: z.int(),
  /** Each part's own figures: scan cost and period, signals that are live and what would be missed, and the like. */
  details: z.record(z.string(), z.unknown()),
  cost: ownCost,
});

export const statusOperations = {
  health: defineOperation({
    method: 'GET',
    path: '/v1/health',
    summary: 'Whether the daemon answers; touches neither disk nor network',
    source: 'design.md, section 3',
    tag: 'status',
    answer: { kind: 'json', status: 200, schema: health },
    errors: [],
  }),
  ready: defineOperation({
    method: 'GET',
    path: '/v1/ready',
    summary: 'Whether every part that is switched on serves, and the state of each',
    source: 'design.md, section 3',
    tag: 'status',
    answer: { kind: 'json', status: 200, schema: readiness, also: [503] },
    errors: [],
  }),
  status: defineOperation({
    method: 'GET',
    path: '/v1/status',
    summary: 'Version, identity, uptime, generation, the state of each part, and what the agent itself costs',
    source: 'design.md, section 3',
    tag: 'status',
    answer: { kind: 'json', status: 200, schema: agentStatus },
    errors: [],
  }),
  metrics: defineOperation({
    method: 'GET',
    path: '/metrics',
    summary: 'The same figures as Prometheus text',
    source: 'design.md, section 3',
    tag: 'status',
    answer: { kind: 'text', status: 200, type: 'text/plain; version=0.0.4; charset=utf-8' },
    errors: [],
  }),
  openapi: defineOperation({
    method: 'GET',
    path: '/openapi.json',
    summary: 'This interface as OpenAPI 3.1',
    source: 'design.md, section 3',
    tag: 'status',
    answer: { kind: 'json', status: 200, schema: z.record(z.string(), z.unknown()) },
    errors: [],
  }),
} as const;
