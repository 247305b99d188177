// The verdict on one call by what is known of the policies; the same for a call and for explain. Pure.
import type { ErrorCode } from '../../contract/errors.ts';
import { type DenialCode, decide } from '../../core/access-policy.ts';
import type { GatewayTarget } from '../../core/gateway-target.ts';
import type { PolicySnapshot } from './policy-snapshot.ts';

/** `target` is absent when the request had no readable one. */
export type Verdict =
  | { readonly type: 'allow'; readonly target: Target; readonly rule: string | null; readonly reading: string }
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

/** One answer for an id that does not exist, is of another provider, or is not this organization's. */
const unknownConnector = {
  type: 'reject',
  code: 'unknown_connector',
  message: 'there is no such connector; GET /v1/gateway/list shows those that there are',
} as const;

export function judge(snapshot: PolicySnapshot, target: GatewayTarget): Verdict {
  if (target.type === 'reject') return target;
  const connector = snapshot.connectors.get(target.connector_id);
  if (connector === undefined || connector.connection.provider !== target.provider) {
    return { ...unknownConnector, target };
  }
  const decision = decide(connector.policy, snapshot.document.sprite, target.path);
  const { reading } = decision;
  const rule = decision.rule ?? null;
  if (decision.type === 'allow') return { type: 'allow', target, rule, reading: decision.reading };
  return { type: 'deny', target, code: decision.code, message: decision.message, rule, reading: reading ?? null };
}
