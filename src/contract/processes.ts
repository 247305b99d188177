// Processes run in a sprite, and the stream of killing one (Sandbox API, Process kill events; the paths and frames are those of
// the Sprites API).
import { z } from 'zod';
import { defineOperation } from './operation.ts';
import { queryBoolean, queryInteger } from './query-values.ts';
import { spriteParams } from './sprites.ts';

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
});
export type ExecRequest = z.infer<typeof execRequest>;

/** A process that can be attached to. */
export const execSession = z.looseObject({ id: z.string() });
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
const access = 'any';
const source = 'Sprites API';

export const processOperations = {
  exec: defineOperation({
    method: 'GET',
    path: '/v1/sprites/{name}/exec',
    summary: 'Run a process, over a WebSocket',
    source,
    tag,
    access,
    params: spriteParams,
    answer: { kind: 'raw' },
    upgrade: 'websocket',
    errors: ['invalid_request', 'unauthorized', 'not_found'],
  }),
  attachProcess: defineOperation({
    method: 'GET',
    path: '/v1/sprites/{name}/exec/{id}',
    summary: 'Attach to a running process, over a WebSocket',
    source,
    tag,
    access,
    params: execParams,
    answer: { kind: 'raw' },
    upgrade: 'websocket',
    errors: ['unauthorized', 'not_found'],
  }),
  listProcesses: defineOperation({
    method: 'GET',
    path: '/v1/sprites/{name}/exec',
    summary: 'The processes that can be attached to',
    source,
    tag,
    access,
    params: spriteParams,
    answer: { kind: 'json', status: 200, schema: execSessionListResponse },
    errors: ['unauthorized', 'not_found'],
  }),
  killProcess: defineOperation({
    method: 'POST',
    path: '/v1/sprites/{name}/exec/{id}/kill',
    summary: 'End a process and report how it went; gone when it has ended already',
    source: 'Sandbox API, Process kill events; Sprites API',
    tag,
    access,
    params: execParams,
    query: killProcessRequest,
    answer: { kind: 'stream', status: 200, schema: processKillEvent },
    errors: ['invalid_request', 'unauthorized', 'not_found', 'gone'],
  }),
} as const;
