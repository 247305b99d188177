// The recorded gateway cases: request targets with the verdict that a safe gateway must give.
import { readFileSync } from 'node:fs';
import { z } from 'zod';

const gatewayCase = z.object({
  id: z.string(),
  method: z.string(),
  target: z.string(),
  policy: z.unknown(),
  expect: z.enum(['allow', 'deny', 'reject']),
  why: z.string(),
  forward: z.string().optional(),
  headers: z.array(z.tuple([z.string(), z.string()])).default([]),
  forward_headers_absent: z.array(z.string()).default([]),
  sprite: z
    .object({ name: z.string(), labels: z.array(z.string()).default([]) })
    .nullable()
    .default({ name: 'dev-1', labels: [] }),
});
export type GatewayCase = z.infer<typeof gatewayCase>;

const file = new URL('../corpus/gateway-policy.json', import.meta.url);
export const gatewayCases: readonly GatewayCase[] = z.array(gatewayCase).parse(JSON.parse(readFileSync(file, 'utf8')));

/** The connectors that the cases assume, by id, with their provider. `conn_other_org` is not the caller's. */
export const corpusConnectors: ReadonlyMap<string, string> = new Map([
  ['conn_1', 'openai'],
  ['conn_2', 'openai'],
  ['conn_sub', 'custom_api'],
]);
