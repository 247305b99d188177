// What the agent asks of the process that enforces the network policy of its sprite, over a socket that only the agent can open.
import * as z from '../lazy-zod.ts';
import { networkExplanation, networkQuestion, networkRefusals } from '../network-explanations.ts';
import { networkPolicyRequest, networkPolicyRule } from '../network-policy.ts';
import { defineLocalOperation } from '../operation.ts';

const port = z.int().min(1).max(65_535);

/** What is open whatever the rules say: the platform, and what the operator of the machine names. */
export const networkExemptions = z.object({
  /** These may have private addresses, too; with a port, that TCP port alone. */
  names: z.array(z.object({ name: z.string().max(253), port: port.optional() })).max(64),
  /** An address, or a network such as `10.0.0.0/8`; with a port, that TCP port of one address alone. */
  networks: z.array(z.object({ network: z.string(), port: port.optional() })).max(64),
});
export type NetworkExemptions = z.infer<typeof networkExemptions>;

export const networkEnforcement = networkPolicyRequest.extend({ exempt: networkExemptions });
export type NetworkEnforcement = z.infer<typeof networkEnforcement>;

export const networkState = z.object({
  /** Empty while nothing is restricted. */
  rules: z.array(networkPolicyRule),
  /** How often the rules of the kernel were put back, because somebody had changed or removed them. */
  put_back: z.int(),
  /** Addresses that names have led to and that are remembered. */
  addresses: z.int(),
  /** Questions for names that were refused since the start. */
  refused_names: z.int(),
});
export type NetworkState = z.infer<typeof networkState>;

/** Where names are resolved on the loopback of this machine, or are about to be; 0 while there is no such port. */
const dnsPort = z.int().min(0).max(65_535);

export const networkYield = z.object({
  /** Whether it ends, and another one is to be started: it is of another version than its caller. */
  ends: z.boolean(),
  pid: z.int().positive(),
  /** The port that its resolver leaves; absent while nothing is restricted. */
  dns_port: dnsPort.optional(),
});

/** Another process that answers at this port in the place of the resolver makes way for it. */
export const resolverLine = z.object({ dns_port: dnsPort });

const shared = { source: 'Remora', tag: 'Network policy', servedAt: ['socket'] } as const;

export const networkOperations = {
  enforceNetwork: defineLocalOperation({
    ...shared,
    method: 'PUT',
    path: '/v1/network',
    summary: 'Enforce these rules in the place of those before; no rules restrict nothing',
    body: networkEnforcement,
    rawBody: { cap_bytes: 4 * 1024 * 1024 },
    answer: { kind: 'json', status: 200, schema: networkState },
    errors: ['invalid_request', 'not_supported'],
  }),
  readNetwork: defineLocalOperation({
    ...shared,
    method: 'GET',
    path: '/v1/network',
    summary: 'The rules that are enforced, and what they have done',
    answer: { kind: 'json', status: 200, schema: networkState },
    errors: [],
  }),
  explainNetwork: defineLocalOperation({
    ...shared,
    method: 'POST',
    path: '/v1/network/explain',
    summary: 'What would happen to a connection, and why',
    body: networkQuestion,
    answer: { kind: 'json', status: 200, schema: networkExplanation },
    errors: ['invalid_request'],
  }),
  listRefusedNetwork: defineLocalOperation({
    ...shared,
    method: 'GET',
    path: '/v1/network/refused',
    summary: 'What was refused lately, the last one first',
    answer: { kind: 'json', status: 200, schema: networkRefusals },
    errors: [],
  }),
  watchResolver: defineLocalOperation({
    ...shared,
    method: 'GET',
    path: '/v1/network/resolver',
    summary:
      'The port of the resolver, for as long as this process runs: a line at once, and one when it resolves names',
    answer: { kind: 'stream', status: 200, schema: resolverLine, quiet: true },
    errors: [],
  }),
  yieldNetwork: defineLocalOperation({
    ...shared,
    method: 'POST',
    path: '/v1/network/yield',
    summary: 'End, unless of this version: the next connection starts another one, and the rules stay in the kernel',
    body: z.object({ version: z.string().min(1).max(64) }),
    answer: { kind: 'json', status: 200, schema: networkYield },
    errors: [],
  }),
} as const;
