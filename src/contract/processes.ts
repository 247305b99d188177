// Processes run in a sprite, and the stream of killing one (Sandbox API, Process kill events; the paths and frames are those of
// the Sprites API).
import * as z from './lazy-zod.ts';
import { definePlatformOperation } from './operation.ts';
import { queryBoolean, queryInteger } from './query-values.ts';
import { reachErrors } from './reach-errors.ts';
import { spriteParams } from './sprites.ts';
import { dateTime } from './time.ts';

/** Sandbox API, Process kill events. */
export const processKillEvent = z.discriminatedUnion('type', [
  z.object({ type: z.literal('signal'), message: z.string(), signal: z.string(), pid: z.int() }),
  z.object({ type: z.literal('timeout'), message: z.string() }),
  z.object({ type: z.literal('exited'), message: z.string() }),
  z.object({ type: z.literal('killed'), message: z.string() }),
  z.object({ type: z.literal('error'), message: z.string() }),
  z.object({ type: z.literal('complete'), exit_code: z.int() }),
]);
export type ProcessKillEvent = z.infer<typeof processKillEvent>;

/** The first byte of a binary frame of an exec WebSocket. */
export const execFrame = { stdin: 0, stdout: 1, stderr: 2, exitCode: 3, endOfStdin: 4 } as const;

/** Sent as a query. `cmd` and `env` may be repeated, which the edge refuses, so that the handler reads the target itself. */
export const execRequest = z.object({
  path: z.string().optional(),
  tty: queryBoolean().optional(),
  stdin: queryBoolean().optional(),
  rows: queryInteger(1, 10_000).optional(),
  cols: queryInteger(1, 10_000).optional(),
  dir: z.string().optional(),
  detachable: queryBoolean().optional(),
  /** A duration: how long the process may run on after its last connection has closed; without an end when it is detachable. */
  max_run_after_disconnect: z.string().max(16).optional(),
});
export type ExecRequest = z.infer<typeof execRequest>;

/** Holds at most as many bytes as one argument of a process may have under Linux. */
const word = z
  .string()
  .max(131_072)
  .refine((text) => !text.includes('\0'), 'must not contain a NUL character');

/** What is to run, once the repeated parts of the query are read, and the `args` of a control frame. */
export const execCommand = execRequest.extend({
  cmd: z.array(word).min(1).max(4_096),
  /** Each `NAME=value`. */
  env: z
    .array(word.regex(/^[A-Za-z_][A-Za-z0-9_]{0,255}=/, 'expected NAME=value'))
    .max(1_024)
    .default([]),
});
export type ExecCommand = z.infer<typeof execCommand>;

/** A frame that steers a process, as JSON in a text frame; over a control connection in a binary frame as well. */
export const execSteering = z.discriminatedUnion('type', [
  z.object({ type: z.literal('signal'), signal: z.string().max(16) }),
  z.object({ type: z.literal('resize'), cols: z.int().min(1).max(10_000), rows: z.int().min(1).max(10_000) }),
]);
export type ExecSteering = z.infer<typeof execSteering>;

/** The first text frame to whom attaches, and to whom starts what can be attached to. */
export const execSessionInfo = z.object({
  type: z.literal('session_info'),
  session_id: z.string(),
  command: z.string(),
  created: dateTime,
  tty: z.boolean(),
  is_owner: z.boolean(),
});
export type ExecSessionInfo = z.infer<typeof execSessionInfo>;

/** The last text frame of a terminal. The connection is closed with 1000 when `exit_code` is 0, else with `TERMINAL_FAILED`. */
export const execExit = z.object({ type: z.literal('exit'), exit_code: z.int() });
export type ExecExit = z.infer<typeof execExit>;
export const TERMINAL_FAILED = 4000;

/** Stands before the JSON of a text frame that steers a control connection. */
export const CONTROL_PREFIX = 'control:';

export const controlStart = z.object({ type: z.literal('op.start'), op: z.string(), args: z.unknown() });
export const controlEnd = z.discriminatedUnion('type', [
  z.object({ type: z.literal('op.complete'), args: z.object({ exitCode: z.int() }) }),
  z.object({ type: z.literal('op.error'), args: z.object({ error: z.string() }) }),
]);
export type ControlEnd = z.infer<typeof controlEnd>;

/** A process that can be attached to, as the Sprites API shows it. */
export const execSession = z.object({
  id: z.string(),
  command: z.string(),
  workdir: z.string(),
  created: dateTime,
  tty: z.boolean(),
  is_active: z.boolean(),
  bytes_per_second: z.number().nonnegative(),
  last_activity: dateTime.optional(),
});
export type ExecSession = z.infer<typeof execSession>;

export const execSessionListResponse = z.object({ sessions: z.array(execSession) });
export type ExecSessionListResponse = z.infer<typeof execSessionListResponse>;

/** Sent as a query. `timeout` is in seconds or text such as `10s`. */
export const killProcessRequest = z.object({
  signal: z.string().max(16).optional(),
  timeout: z.string().max(16).optional(),
});
export type KillProcessRequest = z.infer<typeof killProcessRequest>;

export const execParams = spriteParams.extend({ id: z.string().min(1) });

const tag = 'Processes';
const servedAt = ['tcp', 'operator'] as const;
/** Who may run something in a sprite: full access to its organization, for lists too. */
const rights = { access: 'organization', readOnly: false } as const;
const source = 'Sprites API';

export const processOperations = {
  exec: definePlatformOperation({
    method: 'GET',
    path: '/v1/sprites/{name}/exec',
    summary: 'Run a process, over a WebSocket',
    source,
    tag,
    servedAt,
    ...rights,
    params: spriteParams,
    answer: { kind: 'raw' },
    upgrade: 'websocket',
    errors: ['invalid_request', 'unauthorized', 'not_found', ...reachErrors],
  }),
  execOverHttp: definePlatformOperation({
    method: 'POST',
    path: '/v1/sprites/{name}/exec',
    summary: 'Run a process with the body as its standard input; each chunk of the answer is one frame',
    source,
    tag,
    servedAt,
    ...rights,
    params: spriteParams,
    answer: { kind: 'raw' },
    errors: ['invalid_request', 'unauthorized', 'not_found', ...reachErrors],
  }),
  control: definePlatformOperation({
    method: 'GET',
    path: '/v1/sprites/{name}/control',
    summary: 'Run processes one after the other over one WebSocket',
    source,
    tag,
    servedAt,
    ...rights,
    params: spriteParams,
    answer: { kind: 'raw' },
    upgrade: 'websocket',
    errors: ['unauthorized', 'not_found', ...reachErrors],
  }),
  attachProcess: definePlatformOperation({
    method: 'GET',
    path: '/v1/sprites/{name}/exec/{id}',
    summary: 'Attach to a running process, over a WebSocket',
    source,
    tag,
    servedAt,
    ...rights,
    params: execParams,
    answer: { kind: 'raw' },
    upgrade: 'websocket',
    errors: ['unauthorized', 'not_found', ...reachErrors],
  }),
  listProcesses: definePlatformOperation({
    method: 'GET',
    path: '/v1/sprites/{name}/exec',
    summary: 'The processes that can be attached to',
    source,
    tag,
    servedAt,
    ...rights,
    params: spriteParams,
    answer: { kind: 'json', status: 200, schema: execSessionListResponse },
    errors: ['unauthorized', 'not_found', ...reachErrors],
  }),
  killProcess: definePlatformOperation({
    method: 'POST',
    path: '/v1/sprites/{name}/exec/{id}/kill',
    summary: 'End a process and report how it went; gone when it has ended already',
    source: 'Sandbox API, Process kill events; Sprites API',
    tag,
    servedAt,
    ...rights,
    params: execParams,
    query: killProcessRequest,
    answer: { kind: 'stream', status: 200, schema: processKillEvent },
    errors: ['invalid_request', 'unauthorized', 'not_found', 'gone', ...reachErrors],
  }),
} as const;
