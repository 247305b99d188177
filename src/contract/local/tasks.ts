// Holds that keep the machine awake, at the paths of a sprite's tasks, and the answer to "why is this machine awake"
// (design.md, section 3; resume.md, section 5).
import { z } from 'zod';
import { queryDuration } from '../duration.ts';
import { defineOperation } from '../operation.ts';
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

/** Seconds, or text such as `"30m"`; more than an hour is taken as an hour. Given back in milliseconds. */
const expire = queryDuration(1_000, HOLD_MAX_MS);
const reason = z.string().max(500);
/** The hold ends when this process is gone; it must be running when the hold is made. */
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
  /** When that will be if the machine goes on running. */
  expires_at: dateTime,
});
export type Task = z.infer<typeof task>;

export const taskListResponse = z.object({ tasks: z.array(task) });

/** The one line of a connection-bound hold; after it the stream only keeps alive until either side ends it. */
export const taskStreamLine = z.object({ type: z.literal('held'), task });

export const idleBlocker = z.object({
  kind: z.enum(['hold', 'gateway_call', 'connection', 'suspend_state', 'primary']),
  /** Whose: the name of the hold, the connector, `port 8080`, the state, `replication`. */
  owner: z.string(),
  since: dateTime.nullable(),
  reason: z.string().optional(),
});
export type IdleBlocker = z.infer<typeof idleBlocker>;

export const idleReport = z.object({
  /** True when nothing blocks. */
  idle: z.boolean(),
  /** Since when there has been no work; null while there is some. */
  idle_since: dateTime.nullable(),
  blockers: z.array(idleBlocker),
  /** What goes on and does not count as work. */
  ignored: z.array(z.string()),
  /** When work was seen last; null when none has been since the agent was started. */
  last_activity_at: dateTime.nullable(),
  /** When the machine would suspend itself; null while something blocks it or idle suspend is off. */
  would_suspend_at: dateTime.nullable(),
  idle_suspend: z.union([z.literal('off'), z.object({ after_ms: z.int() })]),
  /** The last suspend for idleness that did not come about, until one does. */
  last_refusal: z.object({ at: dateTime, message: z.string(), next_try_at: dateTime }).optional(),
});
export type IdleReport = z.infer<typeof idleReport>;

const source = 'design.md, section 3; wire-facts.md, section 3; resume.md, section 5';
const tag = 'holds';
const params = z.object({ name: holdName });

export const taskOperations = {
  listTasks: defineOperation({
    method: 'GET',
    path: '/v1/tasks',
    summary: 'The holds that keep this machine awake',
    source,
    tag,
    answer: { kind: 'json', status: 200, schema: taskListResponse },
    errors: [],
  }),
  createTask: defineOperation({
    method: 'POST',
    path: '/v1/tasks',
    summary: 'Hold the machine awake; 409 when the name is taken',
    source,
    tag,
    body: createTaskRequest,
    answer: { kind: 'json', status: 201, schema: task },
    errors: ['invalid_request', 'already_exists', 'too_many_requests'],
  }),
  readTask: defineOperation({
    method: 'GET',
    path: '/v1/tasks/{name}',
    summary: 'One hold',
    source,
    tag,
    params,
    answer: { kind: 'json', status: 200, schema: task },
    errors: ['not_found'],
  }),
  putTask: defineOperation({
    method: 'PUT',
    path: '/v1/tasks/{name}',
    summary: 'Make or renew a hold',
    source,
    tag,
    params,
    body: putTaskRequest,
    answer: { kind: 'json', status: 200, schema: task },
    errors: ['invalid_request', 'conflict', 'too_many_requests'],
  }),
  deleteTask: defineOperation({
    method: 'DELETE',
    path: '/v1/tasks/{name}',
    summary: 'Let go of a hold',
    source,
    tag,
    params,
    answer: { kind: 'empty', status: 204 },
    errors: ['not_found'],
  }),
  holdTask: defineOperation({
    method: 'GET',
    path: '/v1/tasks/{name}/stream',
    summary: 'Hold the machine awake for as long as this connection is open',
    source,
    tag,
    params,
    query: z.object({ reason: reason.optional(), mode: holdMode.default('block') }),
    answer: { kind: 'stream', status: 200, schema: taskStreamLine },
    errors: ['invalid_request', 'already_exists', 'too_many_requests'],
  }),
  idle: defineOperation({
    method: 'GET',
    path: '/v1/idle',
    summary: 'Why this machine is awake: what blocks, what is ignored, when it would suspend',
    source,
    tag,
    answer: { kind: 'json', status: 200, schema: idleReport },
    errors: [],
  }),
} as const;
