// What a network policy would do with a connection, and what it has refused.
import * as z from './lazy-zod.ts';
import { definePlatformOperation } from './operation.ts';
import { reachErrors } from './reach-errors.ts';
import { spriteParams } from './sprites.ts';

const port = z.int().min(1).max(65_535);

/** `host`: a name or an address. */
export const networkQuestion = z.object({ host: z.string().min(1).max(253), port: port.optional() });
export type NetworkQuestion = z.infer<typeof networkQuestion>;

/** What would happen to a connection. */
export const networkExplanation = z.object({
  decision: z.enum(['allow', 'deny']),
  /** The reason in plain words. */
  reason: z.string(),
  /** The rule that decided, and where it stands in the list; absent when none covers the name. */
  rule: z
    .object({ index: z.int(), action: z.enum(['allow', 'deny']), domain: z.string(), include: z.string().optional() })
    .optional(),
  /** `addresses`: those that a name has led to. `names`: those that have led to an address, the last one first. */
  addresses: z.array(z.string()),
  names: z.array(z.string()),
});
export type NetworkExplanation = z.infer<typeof networkExplanation>;

export const networkRefusal = z.object({
  kind: z.enum(['name', 'address']),
  name: z.string().optional(),
  address: z.string().optional(),
  port: port.optional(),
  protocol: z.string().optional(),
  /** One that was seen asking for the name, or the last that tried the address, named by its thread. Absent where the machine cannot tell. */
  process: z.object({ pid: z.int(), command: z.string() }).optional(),
  uid: z.int().optional(),
  count: z.int(),
  last_at: z.string(),
});
export type NetworkRefusal = z.infer<typeof networkRefusal>;

/** Bounded: the last 256 names, and the addresses of the last ten minutes. */
export const networkRefusals = z.object({ refused: z.array(networkRefusal) });
export type NetworkRefusals = z.infer<typeof networkRefusals>;

const shared = {
  source: 'Sandbox API, Network policy records; Remora',
  tag: 'Network policy',
  servedAt: ['tcp', 'operator'],
  /** The machine is woken for it. */
  access: 'organization',
  readOnly: false,
  params: spriteParams,
} as const;
const errors = ['invalid_request', 'unauthorized', 'forbidden', 'not_found', ...reachErrors] as const;

export const networkExplanationOperations = {
  explainNetworkPolicy: definePlatformOperation({
    ...shared,
    method: 'POST',
    path: '/v1/sprites/{name}/policy/network/explain',
    summary: 'What the network policy of a sprite would do with a connection, and why',
    body: networkQuestion,
    answer: { kind: 'json', status: 200, schema: networkExplanation },
    errors,
  }),
  listRefusedConnections: definePlatformOperation({
    ...shared,
    method: 'GET',
    path: '/v1/sprites/{name}/policy/network/refused',
    summary: 'What the network policy of a sprite has refused lately, the last one first',
    answer: { kind: 'json', status: 200, schema: networkRefusals },
    errors,
  }),
} as const;
