// How many calls were made through each connector, by day (DECISIONS.md, "Audit and usage of the gateway").
import * as z from './lazy-zod.ts';
import { definePlatformOperation } from './operation.ts';

/** A day in UTC, as in `2026-01-31`. */
const day = z.iso.date();
const count = z.int().nonnegative();

/** One day of one connector. The record stays when the connector is deleted. */
export const gatewayUsage = z.object({
  day,
  connector_id: z.string(),
  provider: z.string(),
  /**
   * `calls` were handed to the provider, however they ended. The others were refused: by the policy, by a limit, or for want of
   * a credential.
   */
  calls: count,
  refused: count,
  request_bytes: count,
  response_bytes: count,
  /** Counted as far as models state them, in answers that are not compressed. */
  input_tokens: count,
  output_tokens: count,
});
export type GatewayUsage = z.infer<typeof gatewayUsage>;

export const gatewayUsageList = z.object({ usage: z.array(gatewayUsage) });
export type GatewayUsageList = z.infer<typeof gatewayUsageList>;

export const gatewayUsageRequest = z.object({
  /** First and last day; when both are absent, the last thirty days. */
  since: day.optional(),
  until: day.optional(),
  connector_id: z.string().optional(),
  /** Only the usage of this sprite. The token of a sprite sees its own usage and no other. */
  sprite: z.string().optional(),
});
export type GatewayUsageRequest = z.infer<typeof gatewayUsageRequest>;

export const gatewayUsageOperations = {
  readGatewayUsage: definePlatformOperation({
    method: 'GET',
    path: '/v1/gateway/usage',
    summary: 'Calls, bytes and tokens of each connector by day; up to five seconds late',
    source: 'Remora',
    tag: 'Gateway',
    servedAt: ['tcp', 'operator'],
    access: 'any',
    query: gatewayUsageRequest,
    answer: { kind: 'json', status: 200, schema: gatewayUsageList },
    errors: ['invalid_request', 'unauthorized', 'forbidden', 'incarnation_conflict', 'rewound'],
  }),
} as const;
