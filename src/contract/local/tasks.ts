// Holds that keep the machine awake, at the paths of a sprite's tasks, and the answer to "why is this machine awake".

import { lifeDuration } from '../duration.ts';
import * as z from '../lazy-zod.ts';
import { defineLocalOperation } from '../operation.ts';
import { dateTime } from '../time.ts';

export const HOLD_MAX_MS = 3_600_000;

export const holdName = z
  .string()
  .regex(
    /^[A-Za-z0-9][A-Za-z0-9._:@-]{0,127}$/,
    'must be 1 to 128 letters, digits and . _ : @ -, beginning with a letter or digit',
  );

/** `block`: no suspend unless forced. `delay`: a suspend waits for it, at most 5 s, and then goes ahead. */
export const holdMode = z.enum(['block', 'delay']);

/** Seconds, or text such as `"30m"`; more than an hour is refused. The parsed value is in milliseconds. */
const expire = lifeDuration(1_000, HOLD_MAX_MS, '1 hour; renew the hold with PUT');
const reason = z.string().max(500);
/** The process that the hold belongs to: the hold ends with it. It must be running when the hold is made. */
const pid = z.int().positive();

const holdFields = { expire, reason: reason.optional(), pid: pid.optional(), mode: holdMode.default('block') };

export const createTaskRequest = z.object({ name: holdName, ...holdFields });
export const putTaskRequest = z.object(holdFields);

export const task = z.object({
  name: holdName,
  mode: holdMode,
  reason: z.string().optional(),
  pid: z.int().optional(),
  /** True when the hold belongs to an open connection and ends with it. */
  connection: z.boolean(),
  created_at: dateTime,
  /** Run time that is left, in seconds; time counts while the machine runs. */
  expire: z.number(),
  /** The wall time at which that is, if the machine goes on running. */
  expires_at: dateTime,
});
export type Task = z.infer<typeof task>;

export const taskListResponse = z.object({ tasks: z.array(task) });

/**
 * The one line of a hold that is bound to its connection. After it the stream sends only keep-alives, until either side ends
 * it.
 */
export const taskStreamLine = z.object({ type: z.literal('held'), task });

export const idleBlocker = z.object({
  kind: z.enum(['hold', 'gateway_call', 'call', 'session', 'connection', 'suspend_state', 'primary']),
  /** The owner: the name of the hold, the connector, the operation, the program, `port 8080`, the state, or `replication`. */
  owner: z.string(),
  since: dateTime.nullable(),
  reason: z.string().optional(),
});
export type IdleBlocker = z.infer<typeof idleBlocker>;

export const idleStatus = z.object({
  /** True when nothing blocks. */
  idle: z.boolean(),
  /** The time since which there has been no work; null while there is some. */
  idle_since: dateTime.nullable(),
  /** The same as a span of the machine's run time, which no clock that is set changes; 0 while there is work. */
  idle_ms: z.number().nonnegative(),
  blockers: z.array(idleBlocker),
  /** Activity that does not count as work. */
  ignored: z.array(z.string()),
  /** When work was last seen; null when none was seen since the start of the agent. */
  last_activity_at: dateTime.nullable(),
  /** When the machine would suspend itself; null while work blocks it or idle suspend is off. */
  would_suspend_at: dateTime.nullable(),
  idle_suspend: z.union([z.literal('off'), z.object({ after_ms: z.int() })]),
  /** The last suspend for idleness that was refused; null again once one succeeds. */
  last_refusal: z.object({ at: dateTime, message: z.string(), next_try_at: dateTime }).optional(),
});
export type IdleStatus = z.infer<typeof idleStatus>;

const source = 'Remora; Sprites API';
const tag = 'holds';
const params = z.object({ name: holdName });

export const taskOperations = {
  listTasks: defineLocalOperation({
    method: 'GET',
    path: '/v1/tasks',
    summary: 'The holds that keep this machine awake',
    source,
    tag,
    servedAt: ['socket'],
    answer: { kind: 'json', status: 200, schema: taskListResponse },
    errors: [],
  }),
  createTask: defineLocalOperation({
    method: 'POST',
    path: '/v1/tasks',
    summary: 'Hold the machine awake; 409 when the name is taken',
    source,
    tag,
    servedAt: ['socket'],
    body: createTaskRequest,
    answer: { kind: 'json', status: 201, schema: task },
    errors: ['invalid_request', 'already_exists', 'too_many_requests'],
  }),
  readTask: defineLocalOperation({
    method: 'GET',
    path: '/v1/tasks/{name}',
    summary: 'One hold',
    source,
    tag,
    servedAt: ['socket'],
    params,
    answer: { kind: 'json', status: 200, schema: task },
    errors: ['not_found'],
  }),
  putTask: defineLocalOperation({
    method: 'PUT',
    path: '/v1/tasks/{name}',
    summary: 'Make or renew a hold',
    source,
    tag,
    servedAt: ['socket'],
    params,
    body: putTaskRequest,
    answer: { kind: 'json', status: 200, schema: task },
    errors: ['invalid_request', 'conflict', 'too_many_requests'],
  }),
  deleteTask: defineLocalOperation({
    method: 'DELETE',
    path: '/v1/tasks/{name}',
    summary: 'Let go of a hold',
    source,
    tag,
    servedAt: ['socket'],
    params,
    answer: { kind: 'empty', status: 204 },
    errors: ['not_found'],
  }),
  holdTask: defineLocalOperation({
    method: 'GET',
    path: '/v1/tasks/{name}/stream',
    summary: 'Hold the machine awake for as long as this connection is open',
    source,
    tag,
    servedAt: ['socket'],
    params,
    query: z.object({ reason: reason.optional(), mode: holdMode.default('block') }),
    answer: { kind: 'stream', status: 200, schema: taskStreamLine },
    errors: ['invalid_request', 'already_exists', 'too_many_requests'],
  }),
  idle: defineLocalOperation({
    method: 'GET',
    path: '/v1/idle',
    summary: 'Why this machine is awake: what blocks, what is ignored, when it would suspend',
    source,
    tag,
    servedAt: ['socket', 'channel'],
    answer: { kind: 'json', status: 200, schema: idleStatus },
    errors: [],
  }),
} as const;
