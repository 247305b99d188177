// How much was called through each connector, by day (choices.ts, "audit and usage of the gateway").
import { z } from 'zod';
import { defineOperation } from './operation.ts';

/** In UTC, as in `2026-01-31`. */
const day = z.iso.date();
const count = z.int().nonnegative();

/** One day of one connector. It stays when the connector is deleted. */
export const gatewayUsage = z.object({
  day,
  connector_id: z.string(),
  provider: z.string(),
  /** Handed to the provider, however that ended; and not, for the policy, the limit or the credential of the connector. */
  calls: count,
  refused: count,
  request_bytes: count,
  response_bytes: count,
  /** As far as models say it in answers that are not compressed. */
  input_tokens: count,
  output_tokens: count,
});
export type GatewayUsage = z.infer<typeof gatewayUsage>;

export const gatewayUsageList = z.object({ usage: z.array(gatewayUsage) });
export type GatewayUsageList = z.infer<typeof gatewayUsageList>;

export const gatewayUsageRequest = z.object({
  /** First and last day; the thirty days up to now when absent. */
  since: day.optional(),
  until: day.optional(),
  connector_id: z.string().optional(),
  /** Of this sprite only. The token of a sprite sees what is its own. */
  sprite: z.string().optional(),
});
export type GatewayUsageRequest = z.infer<typeof gatewayUsageRequest>;

export const gatewayUsageOperations = {
  readGatewayUsage: defineOperation({
    method: 'GET',
    path: '/v1/gateway/usage',
    summary: 'Calls, bytes and tokens of each connector by day; up to five seconds late',
    source: 'design.md, section 8 (path not shown)',
    tag: 'Gateway',
    access: 'any',
    query: gatewayUsageRequest,
    answer: { kind: 'json', status: 200, schema: gatewayUsageList },
    errors: ['invalid_request', 'unauthorized', 'forbidden', 'incarnation_conflict', 'rewound'],
  }),
} as const;
