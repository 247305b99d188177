// The ports of this machine: which process listens, what opens and closes, and waiting for a port.

import { queryDuration } from '../duration.ts';
import * as z from '../lazy-zod.ts';
import { defineLocalOperation } from '../operation.ts';
import { portNotification } from '../port-notices.ts';
import { spriteParams } from '../sprites.ts';
import { dateTime } from '../time.ts';

/** The longest that one request waits, and the default of its `timeout`. It is the limit of the machines API. */
export const PORT_WAIT_MAX_MS = 60_000;

/**
 * One open port. The first fields are those of the port notification message of the Sandbox API; `pid` 0: the process cannot be
 * seen.
 */
export const portListener = z.object({
  port: portNotification.shape.port,
  address: portNotification.shape.address,
  pid: portNotification.shape.pid,
  /** Name of the process; absent when it cannot be seen. */
  command: z.string().optional(),
  /** When the process was started, in clock ticks since boot. Pid and start time together name one process for good. */
  start_ticks: z.int().nonnegative().optional(),
  uid: z.int().nonnegative(),
  /** Every bind address, the widest first. */
  addresses: z.array(z.string()),
});
export type PortListener = z.infer<typeof portListener>;

/** `app`: a listener of a program. `system`: one of the machine's own services, such as a secure shell. */
export const openPortListener = portListener.extend({ class: z.enum(['app', 'system']) });
export type OpenPortListener = z.infer<typeof openPortListener>;

/** A port that is open and not announced. `own`: the agent listens. `ignored`: the settings name it. */
export const leftOutPortListener = portListener.extend({ class: z.enum(['own', 'ignored']) });

/** `problem` is set when the last scan failed; the ports are then those seen at `scanned_at`. */
export const portsStatus = z.object({
  ports: z.array(openPortListener),
  left_out: z.array(leftOutPortListener),
  scanned_at: dateTime,
  problem: z.string().optional(),
});

/** The first line of a watch, as the Sprites API has it. */
export const portList = z.object({ type: z.literal('port_list'), ports: z.array(openPortListener) });

export const portWatchLine = z.union([portList, portNotification]);
export type PortWatchLine = z.infer<typeof portWatchLine>;

/**
 * `listen`: a process listens. `http`: it answers a GET of `/` with HTTP, whatever the status. `closed`: no process listens.
 */
export const portCondition = z.enum(['listen', 'http', 'closed']);
export type PortCondition = z.infer<typeof portCondition>;

export const portWaitAnswer = z.object({
  ok: z.literal(true),
  until: portCondition,
  waited_ms: z.int().nonnegative(),
  listener: portListener.nullable(),
});

const tag = 'ports';

export const portOperations = {
  listPorts: defineLocalOperation({
    method: 'GET',
    path: '/v1/ports',
    summary: 'Every TCP port of this machine that is open now, without those of the agent',
    source: 'Remora',
    tag,
    servedAt: ['socket', 'readonly', 'loopback'],
    answer: { kind: 'json', status: 200, schema: portsStatus },
    errors: ['not_ready'],
  }),
  watchPorts: defineLocalOperation({
    method: 'GET',
    path: '/v1/ports/watch',
    summary: 'The open ports, then each one that opens or closes; as lines, events, or WebSocket text frames',
    source: 'Sandbox API, Port notification message; Sprites API',
    tag,
    servedAt: ['socket', 'readonly', 'loopback'],
    answer: { kind: 'stream', status: 200, schema: portWatchLine, upgrades: true },
    errors: ['not_ready'],
  }),
  watchSpritePorts: defineLocalOperation({
    method: 'GET',
    path: '/v1/sprites/{name}/ports/watch',
    summary: 'The same, at the path of the platform; the name must be that of this sprite',
    source: 'Sandbox API, Port notification message; Sprites API',
    tag,
    servedAt: ['socket', 'readonly', 'loopback'],
    params: spriteParams,
    answer: { kind: 'stream', status: 200, schema: portWatchLine, upgrades: true },
    errors: ['not_found', 'not_ready'],
  }),
  waitForPort: defineLocalOperation({
    method: 'GET',
    path: '/v1/ports/{port}/wait',
    summary: 'Wait until a port listens, answers HTTP, or is closed; timeout in seconds or like 500ms, at most 60 s',
    source: 'Remora',
    tag,
    servedAt: ['socket', 'readonly', 'loopback'],
    params: z.object({ port: z.coerce.number().pipe(portNotification.shape.port) }),
    query: z.object({
      until: portCondition.default('listen'),
      timeout: queryDuration(0, PORT_WAIT_MAX_MS).default(PORT_WAIT_MAX_MS),
    }),
    answer: { kind: 'json', status: 200, schema: portWaitAnswer },
    errors: ['read_only', 'timeout', 'not_ready'],
  }),
} as const;
