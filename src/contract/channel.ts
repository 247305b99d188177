// The channel: the connection over which the platform reaches into a machine. The agent opens it, and is the HTTP/2 server on it. For a
// large file, and for requests of the proxy to a busy port, it opens another one beside it, a lane, when the platform asks for it over the
// channel.
import * as z from './lazy-zod.ts';
import { machineParams } from './machines.ts';
import { definePlatformOperation } from './operation.ts';

/** The value of `Upgrade`. */
export const CHANNEL_PROTOCOL = 'remora-channel/1';

/** Sent with the request for a channel by a machine that may be restricted by a network policy, as from a disk that it was restored to. */
export const RESTRICTED_HEADER = 'remora-network-restricted';

/** The same, by a machine whose programs are restricted. */
export const PROGRAMS_RESTRICTED_HEADER = 'remora-programs-restricted';

/** The `:authority` of a CONNECT that reaches the agent's own operations. */
export const AGENT_AUTHORITY = 'agent';

/** The `:authority` of a CONNECT that reaches a port of the machine: `port:` and its number. */
export const PORT_AUTHORITY = /^port:([1-9]\d{0,4})$/;

/** The `:authority` of a CONNECT that reaches the HTTP service of a sprite: the port of its service with an `http_port`, or 8080. */
export const HTTP_AUTHORITY = 'web';

/** Where a sprite is expected to serve HTTP when none of its services has an `http_port`. */
export const DEFAULT_HTTP_PORT = 8_080;

export function toPortAuthority(port: number): string {
  return `port:${port}`;
}

/** The operations that may have a lane. */
export const laneIds = ['readFile', 'writeFile'] as const;
export type LaneOperation = (typeof laneIds)[number];

/**
 * The `:authority` of a CONNECT that asks for a lane: `lane:`, the operation, and a name that nobody else knows. The agent opens the lane
 * and joins it to its supervisor before it accepts. The end of the stream is the end of the lane.
 */
export const LANE_AUTHORITY = /^lane:(readFile|writeFile):([0-9a-f]{32})$/;

export function toLaneAuthority(operation: LaneOperation, lane_id: string): string {
  return `lane:${operation}:${lane_id}`;
}

/**
 * The same for a lane to a port: `lane:`, what a CONNECT to the port itself would have, and a name that nobody else knows. The agent joins the
 * lane to a connection to the port. It starts nothing for it.
 */
export const PORT_LANE_AUTHORITY = /^lane:(web|port:[1-9]\d{0,4}):([0-9a-f]{32})$/;

export function toPortLaneAuthority(authority: string, lane_id: string): string {
  return `lane:${authority}:${lane_id}`;
}

export const laneParams = machineParams.extend({ lane_id: z.string().regex(/^[0-9a-f]{32}$/) });

/**
 * What a refused CONNECT to a port says of the service that has this port: the error code, its name, and its state. Without such a service
 * there is only the status.
 */
export const PORT_REFUSAL = {
  error: 'remora-error',
  service: 'remora-service',
  state: 'remora-service-state',
} as const;

const errors = [
  'invalid_request',
  'unauthorized',
  'forbidden',
  'not_found',
  'incarnation_conflict',
  'rewound',
  'other_host',
  'upgrade_required',
  'too_many_requests',
  'not_ready',
] as const;

export const channelOperations = {
  openChannel: definePlatformOperation({
    method: 'GET',
    path: '/v1/apps/{app_name}/machines/{machine_id}/channel',
    summary: 'Open the channel of a machine; afterwards the agent is the HTTP/2 server on this connection',
    source: 'Remora',
    tag: 'Machines',
    servedAt: ['tcp'],
    access: 'agent',
    readOnly: false,
    judgesIncarnation: true,
    params: machineParams,
    answer: { kind: 'raw' },
    upgrade: CHANNEL_PROTOCOL,
    errors,
  }),
  openLane: definePlatformOperation({
    method: 'GET',
    path: '/v1/apps/{app_name}/machines/{machine_id}/lanes/{lane_id}',
    summary:
      'Open a lane that the platform has asked for over the channel; afterwards it carries one call with a large file, or requests to a port',
    source: 'Remora',
    tag: 'Machines',
    servedAt: ['tcp'],
    access: 'agent',
    readOnly: false,
    judgesIncarnation: true,
    params: laneParams,
    answer: { kind: 'raw' },
    upgrade: CHANNEL_PROTOCOL,
    errors,
  }),
} as const;
