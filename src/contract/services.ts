// Services of a sprite, their states and their log events (Sandbox API, Service definition records and Service log events; the
// paths are those of the Sprites API).

import { queryDuration } from './duration.ts';
import * as z from './lazy-zod.ts';
import { definePlatformOperation } from './operation.ts';
import { queryInteger } from './query-values.ts';
import { reachErrors } from './reach-errors.ts';
import { spriteParams } from './sprites.ts';
import { dateTime, unixMilliseconds } from './time.ts';

/** Sandbox API, States and transitions. */
export const serviceStatus = z.enum(['stopped', 'starting', 'running', 'stopping', 'failed']);
export type ServiceStatus = z.infer<typeof serviceStatus>;

/**
 * Sandbox API, ServiceState. `pid` when running, `error` when failed. `restart_count` and `next_restart_at` are those of the Sprites
 * API: how often the service was started again after a crash, and when it is started next.
 */
export const serviceState = z.object({
  name: z.string(),
  status: serviceStatus,
  pid: z.int().positive().optional(),
  started_at: dateTime.optional(),
  error: z.string().optional(),
  restart_count: z.int().nonnegative().optional(),
  next_restart_at: dateTime.optional(),
  /** Remora's own field: the secrets of the app have changed since the process was started. Absent while they are the same. */
  stale_environment: z.literal(true).optional(),
});
export type ServiceState = z.infer<typeof serviceState>;

/** The form of a name; the specifications give none (DECISIONS.md, "Service name"). It is a file name, and part of a path. */
export const serviceName = z
  .string()
  .regex(
    /^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$/,
    'expected 1 to 63 letters, digits, dots, dashes and underscores, beginning with a letter or a digit',
  );

/** Holds at most as many bytes as one argument of a process may have under Linux. */
const word = z
  .string()
  .max(131_072)
  .refine((text) => !text.includes('\0'), 'must not contain a NUL character');

const httpPort = z.int().min(1).max(65_535).nullable().optional();

/**
 * Sandbox API, ServiceRequest. Clients of the Sprites API leave out empty `args` and `needs`, and send `httpPort`, which is read as
 * `http_port`.
 */
export const serviceRequest = z
  .object({
    cmd: word.min(1),
    args: z.array(word).max(1_024).default([]),
    needs: z.array(serviceName).max(64).default([]),
    dir: word.max(4_096).optional(),
    env: z.record(z.string().regex(/^[A-Za-z_][A-Za-z0-9_]{0,255}$/), word).optional(),
    http_port: httpPort,
    httpPort,
    /** Remora's own field: start it again when the secrets of the app change. */
    restart_on_environment_change: z.boolean().optional(),
  })
  .transform(({ httpPort: alias, ...service }) =>
    alias === undefined || service.http_port !== undefined ? service : { ...service, http_port: alias },
  );
export type ServiceRequest = z.infer<typeof serviceRequest>;

/** Sandbox API, ServiceResponse, with `dir` as in the Sprites API. Values of `env` are never given back: they may be secrets. */
export const serviceResponse = z.object({
  name: z.string(),
  cmd: z.string(),
  args: z.array(z.string()),
  needs: z.array(z.string()),
  dir: z.string().optional(),
  http_port: httpPort,
  restart_on_environment_change: z.boolean().optional(),
  state: serviceState.nullable().optional(),
});
export type ServiceResponse = z.infer<typeof serviceResponse>;

export const serviceListResponse = z.array(serviceResponse);
export type ServiceListResponse = z.infer<typeof serviceListResponse>;

const timestamp = unixMilliseconds;

/** Sandbox API, Service log events. */
export const serviceLogEvent = z.discriminatedUnion('type', [
  z.object({ type: z.literal('started'), timestamp }),
  z.object({ type: z.literal('stdout'), data: z.string(), timestamp }),
  z.object({ type: z.literal('stderr'), data: z.string(), timestamp }),
  z.object({ type: z.literal('stopping'), timestamp }),
  z.object({ type: z.literal('stopped'), exit_code: z.int(), timestamp }),
  z.object({ type: z.literal('exit'), exit_code: z.int(), timestamp }),
  z.object({ type: z.literal('error'), data: z.string(), timestamp }),
  z.object({
    type: z.literal('complete'),
    timestamp,
    log_files: z.object({ combined: z.string(), stdout: z.string(), stderr: z.string() }).partial().optional(),
  }),
]);
export type ServiceLogEvent = z.infer<typeof serviceLogEvent>;

/** How long a log may be followed by one call, and the longest time that a service is given to stop. */
export const FOLLOW_MAX_MS = 3_600_000;
const STOP_MAX_MS = 300_000;

/** Seconds or text such as `5s`; milliseconds once it is parsed. */
const duration = queryDuration(0, FOLLOW_MAX_MS).optional();

/** Query of the operations that stream a service's log for a while. */
export const serviceWatchRequest = z.object({ duration });
export type ServiceWatchRequest = z.infer<typeof serviceWatchRequest>;

export const serviceStopRequest = z.object({ timeout: queryDuration(0, STOP_MAX_MS).optional() });
export type ServiceStopRequest = z.infer<typeof serviceStopRequest>;

export const serviceLogsRequest = z.object({ lines: queryInteger(0, 10_000).optional(), duration });
export type ServiceLogsRequest = z.infer<typeof serviceLogsRequest>;

export const serviceSignalRequest = z.object({ name: serviceName, signal: z.string().min(1).max(16) });
export type ServiceSignalRequest = z.infer<typeof serviceSignalRequest>;

export const serviceParams = spriteParams.extend({ service: serviceName });

const tag = 'Services';
const servedAt = ['tcp', 'operator'] as const;
/** Who may change what runs in a sprite: full access to its organization, for reading too. */
const rights = { access: 'organization', readOnly: false } as const;
const source = 'Sandbox API, Service definition records; Sprites API';
const logSource = 'Sandbox API, Service log events; Sprites API';
const log = { kind: 'stream', status: 200, schema: serviceLogEvent, quiet: true } as const;

export const serviceOperations = {
  listServices: definePlatformOperation({
    method: 'GET',
    path: '/v1/sprites/{name}/services',
    summary: 'The services of a sprite with their states',
    source,
    tag,
    servedAt,
    ...rights,
    params: spriteParams,
    answer: { kind: 'json', status: 200, schema: serviceListResponse },
    errors: ['unauthorized', 'not_found', ...reachErrors],
  }),
  readService: definePlatformOperation({
    method: 'GET',
    path: '/v1/sprites/{name}/services/{service}',
    summary: 'One service with its state',
    source,
    tag,
    servedAt,
    ...rights,
    params: serviceParams,
    answer: { kind: 'json', status: 200, schema: serviceResponse },
    errors: ['unauthorized', 'not_found', ...reachErrors],
  }),
  putService: definePlatformOperation({
    method: 'PUT',
    path: '/v1/sprites/{name}/services/{service}',
    summary: 'Define or replace a service, start it, and follow its log for a while',
    source: logSource,
    tag,
    servedAt,
    ...rights,
    params: serviceParams,
    query: serviceWatchRequest,
    body: serviceRequest,
    answer: log,
    errors: ['invalid_request', 'unauthorized', 'not_found', 'conflict', ...reachErrors],
  }),
  deleteService: definePlatformOperation({
    method: 'DELETE',
    path: '/v1/sprites/{name}/services/{service}',
    summary: 'Stop and forget a service',
    source,
    tag,
    servedAt,
    ...rights,
    params: serviceParams,
    answer: { kind: 'empty', status: 204 },
    errors: ['unauthorized', 'not_found', 'conflict', ...reachErrors],
  }),
  startService: definePlatformOperation({
    method: 'POST',
    path: '/v1/sprites/{name}/services/{service}/start',
    summary: 'Start a service and follow its log for a while',
    source: logSource,
    tag,
    servedAt,
    ...rights,
    params: serviceParams,
    query: serviceWatchRequest,
    answer: log,
    errors: ['invalid_request', 'unauthorized', 'not_found', 'conflict', ...reachErrors],
  }),
  stopService: definePlatformOperation({
    method: 'POST',
    path: '/v1/sprites/{name}/services/{service}/stop',
    summary: 'Stop a service; it stays stopped until it is started',
    source: logSource,
    tag,
    servedAt,
    ...rights,
    params: serviceParams,
    query: serviceStopRequest,
    answer: log,
    errors: ['invalid_request', 'unauthorized', 'not_found', 'conflict', ...reachErrors],
  }),
  restartService: definePlatformOperation({
    method: 'POST',
    path: '/v1/sprites/{name}/services/{service}/restart',
    summary: 'Stop and start a service and follow its log for a while',
    source: logSource,
    tag,
    servedAt,
    ...rights,
    params: serviceParams,
    query: serviceWatchRequest,
    answer: log,
    errors: ['invalid_request', 'unauthorized', 'not_found', 'conflict', ...reachErrors],
  }),
  followServiceLogs: definePlatformOperation({
    method: 'GET',
    path: '/v1/sprites/{name}/services/{service}/logs',
    summary: 'The last lines of a service, then new ones for a while',
    source: logSource,
    tag,
    servedAt,
    ...rights,
    params: serviceParams,
    query: serviceLogsRequest,
    answer: log,
    errors: ['invalid_request', 'unauthorized', 'not_found', ...reachErrors],
  }),
  signalService: definePlatformOperation({
    method: 'POST',
    path: '/v1/sprites/{name}/services/signal',
    summary: 'Send a signal to the process of a service',
    source,
    tag,
    servedAt,
    ...rights,
    params: spriteParams,
    body: serviceSignalRequest,
    answer: { kind: 'empty', status: 204 },
    errors: ['invalid_request', 'unauthorized', 'not_found', 'invalid_state', ...reachErrors],
  }),
} as const;
