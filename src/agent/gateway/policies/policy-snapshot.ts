// The platform's last answer: who this sprite is, which connectors exist and what their policies are. Pure.
import { z } from 'zod';
import { type Connection, connection } from '../../../contract/connectors.ts';
import { gatewayListResponse } from '../../../contract/gateway.ts';
import { type CompiledPolicy, compilePolicy } from '../../../core/gateway/access-policy.ts';

/** What is fetched and stored, without its age. `list` is null when the platform gave no list. */
export const policyDocument = z.object({
  sprite: z.object({
    name: z.string(),
    labels: z.array(z.string()),
    url: z.string(),
    /** Absent in what an older agent has stored. */
    id: z.string().optional(),
    organization: z.string().optional(),
  }),
  connections: z.array(connection),
  /** The connectors of the organization that this sprite may not use. */
  denied: z.array(z.object({ id: z.string(), provider: z.string() })).default([]),
  list: gatewayListResponse.nullable(),
});
export type PolicyDocument = z.output<typeof policyDocument>;

export interface PolicyConnector {
  readonly connection: Connection;
  readonly policy: CompiledPolicy;
}

export interface PolicySnapshot {
  readonly document: PolicyDocument;
  /** Connectors by id. It is a Map, so that an id such as `__proto__` is only an id. */
  readonly connectors: ReadonlyMap<string, PolicyConnector>;
  /** Provider by connector id, for the connectors that this sprite may not use. */
  readonly denied: ReadonlyMap<string, string>;
}

export function toSnapshot(document: PolicyDocument): PolicySnapshot {
  const connectors = new Map<string, PolicyConnector>();
  for (const item of document.connections) {
    connectors.set(item.id, { connection: item, policy: compilePolicy(item.access_policy) });
  }
  const denied = new Map(document.denied.map(({ id, provider }) => [id, provider]));
  return { document, connectors, denied };
}
