// Services of a sprite, their states and their log events (Sandbox API, Service definition records and Service log events; the
// paths are those of the Sprites API).
import { z } from 'zod';
import { defineOperation } from './operation.ts';
import { queryInteger } from './query-values.ts';
import { spriteParams } from './sprites.ts';
import { dateTime, unixMilliseconds } from './time.ts';

/** Sandbox API, States and transitions. */
export const serviceStatus = z.enum(['stopped', 'starting', 'running', 'stopping', 'failed']);
export type ServiceStatus = z.infer<typeof serviceStatus>;

/** Sandbox API, ServiceState. `pid` when running, `error` when failed. */
export const serviceState = z.object({
  name: z.string(),
  status: serviceStatus,
  pid: z.int().positive().optional(),
  started_at: dateTime.optional(),
  error: z.string().optional(),
});
export type ServiceState = z.infer<typeof serviceState>;

const httpPort = z.int().min(1).max(65_535).nullable().optional();

/** Sandbox API, ServiceRequest. `httpPort` is read as `http_port`: clients of the Sprites API send it. */
export const serviceRequest = z
  .object({
    cmd: z.string().min(1),
    args: z.array(z.string()),
    needs: z.array(z.string()),
    dir: z.string().optional(),
    env: z.record(z.string(), z.string()).optional(),
    http_port: httpPort,
    httpPort,
  })
  .transform(({ httpPort: alias, ...service }) =>
    alias === undefined || service.http_port !== undefined ? service : { ...service, http_port: alias },
  );
export type ServiceRequest = z.infer<typeof serviceRequest>;

/** Sandbox API, ServiceResponse. */
export const serviceResponse = z.object({
  name: z.string(),
  cmd: z.string(),
  args: z.array(z.string()),
  needs: z.array(z.string()),
  http_port: httpPort,
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

/** Seconds or text such as `5s`. */
const duration = z.string().max(16).optional();

/** Query of the operations that stream a service's log for a while. */
export const serviceWatchRequest = z.object({ duration });
export type ServiceWatchRequest = z.infer<typeof serviceWatchRequest>;

export const serviceStopRequest = z.object({ timeout: duration });
export type ServiceStopRequest = z.infer<typeof serviceStopRequest>;

export const serviceLogsRequest = z.object({ lines: queryInteger(0, 10_000).optional(), duration });
export type ServiceLogsRequest = z.infer<typeof serviceLogsRequest>;

export const serviceSignalRequest = z.object({ name: z.string().min(1), signal: z.string().min(1) });
export type ServiceSignalRequest = z.infer<typeof serviceSignalRequest>;

export const serviceParams = spriteParams.extend({ service: z.string().min(1) });

const tag = 'Services';
const access = 'any';
const source = 'Sandbox API, Service definition records; Sprites API';
const logSource = 'Sandbox API, Service log events; Sprites API';
const log = { kind: 'stream', status: 200, schema: serviceLogEvent } as const;

export const serviceOperations = {
  listServices: defineOperation({
    method: 'GET',
    path: '/v1/sprites/{name}/services',
    summary: 'The services of a sprite with their states',
    source,
    tag,
    access,
    params: spriteParams,
    answer: { kind: 'json', status: 200, schema: serviceListResponse },
    errors: ['unauthorized', 'not_found'],
  }),
  readService: defineOperation({
    method: 'GET',
    path: '/v1/sprites/{name}/services/{service}',
    summary: 'One service with its state',
    source,
    tag,
    access,
    params: serviceParams,
    answer: { kind: 'json', status: 200, schema: serviceResponse },
    errors: ['unauthorized', 'not_found'],
  }),
  putService: defineOperation({
    method: 'PUT',
    path: '/v1/sprites/{name}/services/{service}',
    summary: 'Define or replace a service, start it, and follow its log for a while',
    source: logSource,
    tag,
    access,
    params: serviceParams,
    query: serviceWatchRequest,
    body: serviceRequest,
    answer: log,
    errors: ['invalid_request', 'unauthorized', 'not_found', 'conflict'],
  }),
  deleteService: defineOperation({
    method: 'DELETE',
    path: '/v1/sprites/{name}/services/{service}',
    summary: 'Stop and forget a service',
    source,
    tag,
    access,
    params: serviceParams,
    answer: { kind: 'empty', status: 204 },
    errors: ['unauthorized', 'not_found', 'conflict'],
  }),
  startService: defineOperation({
    method: 'POST',
    path: '/v1/sprites/{name}/services/{service}/start',
    summary: 'Start a service and follow its log for a while',
    source: logSource,
    tag,
    access,
    params: serviceParams,
    query: serviceWatchRequest,
    answer: log,
    errors: ['unauthorized', 'not_found', 'conflict'],
  }),
  stopService: defineOperation({
    method: 'POST',
    path: '/v1/sprites/{name}/services/{service}/stop',
    summary: 'Stop a service; it stays stopped until it is started',
    source: logSource,
    tag,
    access,
    params: serviceParams,
    query: serviceStopRequest,
    answer: log,
    errors: ['unauthorized', 'not_found', 'conflict'],
  }),
  restartService: defineOperation({
    method: 'POST',
    path: '/v1/sprites/{name}/services/{service}/restart',
    summary: 'Stop and start a service and follow its log for a while',
    source: logSource,
    tag,
    access,
    params: serviceParams,
    query: serviceWatchRequest,
    answer: log,
    errors: ['unauthorized', 'not_found', 'conflict'],
  }),
  followServiceLogs: defineOperation({
    method: 'GET',
    path: '/v1/sprites/{name}/services/{service}/logs',
    summary: 'The last lines of a service, then new ones for a while',
    source: logSource,
    tag,
    access,
    params: serviceParams,
    query: serviceLogsRequest,
    answer: log,
    errors: ['invalid_request', 'unauthorized', 'not_found'],
  }),
  signalService: defineOperation({
    method: 'POST',
    path: '/v1/sprites/{name}/services/signal',
    summary: 'Send a signal to the process of a service',
    source,
    tag,
    access,
    params: spriteParams,
    body: serviceSignalRequest,
    answer: { kind: 'empty', status: 204 },
    errors: ['invalid_request', 'unauthorized', 'not_found', 'invalid_state'],
  }),
} as const;
