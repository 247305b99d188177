// Judges one call by the policies that are known here. Calls and explain use the same function. Pure.
import type { ErrorCode } from '../../../contract/errors.ts';
import { compilePolicy, type DenialCode, decide, isGranted } from '../../../core/gateway/access-policy.ts';
import type { GatewayTarget } from '../../../core/gateway/gateway-target.ts';
import type { PolicySnapshot } from './policy-snapshot.ts';

/** `target` is absent when the target of the request cannot be read. */
export type Verdict =
  | {
      readonly type: 'allow';
      readonly target: Target;
      readonly rule: string | null;
      readonly reading: string;
      /** The policies that allow it. */
      readonly policies: PolicySnapshot;
    }
  | {
      readonly type: 'deny';
      readonly target: Target;
      readonly code: DenialCode;
      readonly message: string;
      readonly rule: string | null;
      readonly reading: string | null;
    }
  | {
      readonly type: 'reject';
      readonly target?: Target;
      readonly code: ErrorCode;
      readonly message: string;
      readonly details?: unknown;
    };

export type Target = Extract<GatewayTarget, { readonly type: 'target' }>;

/** The same answer for an id that does not exist, belongs to another provider, or belongs to another organization. */
const unknownConnector = {
  type: 'reject',
  code: 'unknown_connector',
  message: 'there is no such connector; GET /v1/gateway/list shows those that there are',
} as const;

/** Stands for the policy of a connector that this sprite may not use: it allows nothing. */
const noPolicy = compilePolicy(undefined);

export function judge(snapshot: PolicySnapshot, target: GatewayTarget): Verdict {
  if (target.type === 'reject') return target;
  const connector = snapshot.connectors.get(target.connector_id);
  const provider = connector?.connection.provider ?? snapshot.denied.get(target.connector_id);
  if (provider !== target.provider) return { ...unknownConnector, target };
  const decision = decide(connector?.policy ?? noPolicy, snapshot.document.sprite, target.path);
  const { reading } = decision;
  const rule = decision.rule ?? null;
  if (decision.type === 'allow') {
    return { type: 'allow', target, rule, reading: decision.reading, policies: snapshot };
  }
  return { type: 'deny', target, code: decision.code, message: decision.message, rule, reading: reading ?? null };
}

/** Whether this sprite may use the connector at all, whatever the path: the part of the verdict that takes no time. */
export function mayUse({ connectors, document }: PolicySnapshot, { connector_id, provider }: Target): boolean {
  const connector = connectors.get(connector_id);
  return connector?.connection.provider === provider && isGranted(connector.policy, document.sprite);
}
