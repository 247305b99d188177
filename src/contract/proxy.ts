// A TCP connection to a port inside a sprite, over a WebSocket (Sprites API).
import * as z from './lazy-zod.ts';
import { definePlatformOperation } from './operation.ts';
import { reachErrors } from './reach-errors.ts';
import { spriteParams } from './sprites.ts';

/** The first frame, as text: what to connect to. `host` may only name the machine itself. */
export const proxyRequest = z.object({
  host: z.enum(['localhost', '127.0.0.1', '::1']).optional(),
  port: z.int().min(1).max(65_535),
});
export type ProxyRequest = z.infer<typeof proxyRequest>;

/** The answer to the first frame, as text. Afterwards each binary frame is bytes of the connection. */
export const proxyResponse = z.object({ status: z.literal('connected'), target: z.string() });
export type ProxyResponse = z.infer<typeof proxyResponse>;

export const proxyOperations = {
  proxyPort: definePlatformOperation({
    method: 'GET',
    path: '/v1/sprites/{name}/proxy',
    summary: 'A connection to a port in the sprite, over a WebSocket',
    source: 'Sprites API',
    tag: 'Processes',
    servedAt: ['tcp', 'operator'],
    access: 'organization',
    readOnly: false,
    params: spriteParams,
    answer: { kind: 'raw' },
    upgrade: 'websocket',
    errors: ['unauthorized', 'not_found', 'upgrade_required', 'service_stopped', ...reachErrors],
  }),
} as const;
