// What the platform last said: who this sprite is, which connectors exist and what their policies are. Pure.
import { z } from 'zod';
import { type Connection, connection } from '../../contract/connectors.ts';
import { gatewayListResponse } from '../../contract/gateway.ts';
import { type CompiledPolicy, compilePolicy } from '../../core/access-policy.ts';

/** What is fetched and kept, without its age. `list` is null when the platform gave none. */
export const policyDocument = z.object({
  sprite: z.object({ name: z.string(), labels: z.array(z.string()), url: z.string() }),
  connections: z.array(connection),
  list: gatewayListResponse.nullable(),
});
export type PolicyDocument = z.infer<typeof policyDocument>;

export interface PolicyConnector {
  readonly connection: Connection;
  readonly policy: CompiledPolicy;
}

export interface PolicySnapshot {
  readonly document: PolicyDocument;
  /** By id. A Map, so that an id such as `__proto__` is only an id. */
  readonly connectors: ReadonlyMap<string, PolicyConnector>;
}

export function toSnapshot(document: PolicyDocument): PolicySnapshot {
  const connectors = new Map<string, PolicyConnector>();
  for (const item of document.connections) {
    connectors.set(item.id, { connection: item, policy: compilePolicy(item.access_policy) });
  }
  return { document, connectors };
}
