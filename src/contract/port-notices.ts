// Ports that opened and closed: the port notification message of the Sandbox API, and how an agent sends it to its platform.
import * as z from './lazy-zod.ts';
import { definePlatformOperation } from './operation.ts';
import { spriteParams } from './sprites.ts';
import { dateTime } from './time.ts';

const portNumber = z.int().min(1).max(65_535);

const fields = {
  port: portNumber,
  address: z.string(),
  pid: z.int().nonnegative(),
};

/** Sandbox API, Port notification message. `pid` 0: the process could not be found (DECISIONS.md, "Port pid"). */
export const portNotification = z.object({ type: z.enum(['port_opened', 'port_closed']), ...fields });
export type PortNotification = z.infer<typeof portNotification>;

/** A notification on its way to the platform. `id` is unique for a sprite and stays the same when it is sent again. */
export const portNotice = z.object({
  id: z.string().min(1).max(128),
  ...portNotification.shape,
  time: dateTime,
});
export type PortNotice = z.infer<typeof portNotice>;

/** Notices in the order of their events, the oldest first. */
export const portNoticesRequest = z.object({ notices: z.array(portNotice).min(1).max(1_000) });
export type PortNoticesRequest = z.infer<typeof portNoticesRequest>;

/** `accepted` counts every notice of the request that is now stored, also those that were stored before. */
export const portNoticesResponse = z.object({ accepted: z.int().nonnegative() });
export type PortNoticesResponse = z.infer<typeof portNoticesResponse>;

/** A port that was open according to the agent's last notice; `time` is when it opened. */
export const spritePort = z.object({ ...fields, time: dateTime });
export type SpritePort = z.infer<typeof spritePort>;

export const spritePortsResponse = z.object({ ports: z.array(spritePort) });
export type SpritePortsResponse = z.infer<typeof spritePortsResponse>;

/** The first event of a watch. */
export const spritePortList = z.object({ type: z.literal('port_list'), ports: z.array(spritePort) });

export const spritePortEvent = z.union([spritePortList, portNotification]);
export type SpritePortEvent = z.infer<typeof spritePortEvent>;

const tag = 'Ports';

export const portNoticeOperations = {
  postPortNotices: definePlatformOperation({
    method: 'POST',
    path: '/v1/sprites/{name}/ports/notices',
    summary: 'Take port notices of an agent, in order; a notice with a known id is taken once',
    source: 'Sandbox API, Port notification message',
    tag,
    servedAt: ['tcp'],
    access: 'agent',
    params: spriteParams,
    body: portNoticesRequest,
    answer: { kind: 'json', status: 200, schema: portNoticesResponse },
    errors: ['invalid_request', 'unauthorized', 'forbidden', 'not_found', 'incarnation_conflict', 'rewound'],
  }),
  listSpritePorts: definePlatformOperation({
    method: 'GET',
    path: '/v1/sprites/{name}/ports',
    summary: 'The ports of a sprite that are open by the last word of its agent',
    source: 'Sandbox API, Port notification message',
    tag,
    servedAt: ['tcp', 'operator'],
    access: 'any',
    params: spriteParams,
    answer: { kind: 'json', status: 200, schema: spritePortsResponse },
    errors: ['unauthorized', 'forbidden', 'not_found'],
  }),
  watchSpritePorts: definePlatformOperation({
    method: 'GET',
    path: '/v1/sprites/{name}/ports/watch',
    summary: 'These ports, then each one that opens or closes; as lines, events, or WebSocket text frames',
    source: 'Sandbox API, Port notification message; Sprites API',
    tag,
    servedAt: ['tcp'],
    access: 'any',
    params: spriteParams,
    answer: { kind: 'stream', status: 200, schema: spritePortEvent, upgrades: true },
    errors: ['unauthorized', 'forbidden', 'not_found', 'too_many_requests'],
  }),
} as const;
