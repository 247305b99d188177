// Explains what the gateway would do with a call. Pure: the verdict comes from the function that judges calls.
import type { ExplainRequest, GatewayExplanation } from '../../contract/local/gateway.ts';
import { withoutCapability } from '../../core/gateway/capability-text.ts';
import { GATEWAY_PREFIX, type GatewayTarget, parseGatewayTarget } from '../../core/gateway/gateway-target.ts';
import { toUpstreamHeaders } from '../../core/gateway/header-hygiene.ts';
import { toCanonicalPath } from '../../core/gateway/path-readings.ts';
import type { Target, Verdict } from './policies/judge-call.ts';
import type { PolicySnapshot } from './policies/policy-snapshot.ts';

/** Builds the target of a call from its parts. Throws when the parts would be read back as other parts. */
export function toExplainTarget({ provider, connector_id, method, path }: ExplainRequest): GatewayTarget {
  const target = parseGatewayTarget(method, `${GATEWAY_PREFIX}${provider}/${connector_id}${path}`, []);
  if (target.type === 'reject') return target;
  const isSame = target.provider === provider && target.connector_id === connector_id && target.path === path;
  if (isSame) return target;
  return { type: 'reject', code: 'invalid_target', message: 'provider and connector_id may hold neither "/" nor "?"' };
}

export interface PolicyAge {
  readonly snapshot: PolicySnapshot | undefined;
  readonly age_ms: number;
}

/** `headers` are those of the call to explain. */
export function toExplanation(
  verdict: Verdict,
  { snapshot, age_ms }: PolicyAge,
  headers: Readonly<Record<string, string>>,
): GatewayExplanation {
  const connector = verdict.target && snapshot?.connectors.get(verdict.target.connector_id);
  const isKnown = connector !== undefined && !(verdict.type === 'reject' && verdict.code === 'unknown_connector');
  const { name = '', labels = [] } = snapshot?.document.sprite ?? {};
  return {
    decision: verdict.type,
    ...(verdict.type === 'allow' ? {} : { code: verdict.code }),
    message: toMessage(verdict),
    rule: verdict.type === 'reject' ? null : verdict.rule,
    reading: verdict.type === 'reject' ? null : verdict.reading,
    canonical: verdict.target === undefined ? null : toCanonicalPath(verdict.target.path),
    forwarded: verdict.type === 'allow' ? toForwarded(verdict.target, headers) : null,
    sprite: snapshot === undefined ? null : { name, labels },
    policy: isKnown ? (connector.connection.access_policy ?? null) : null,
    policy_age_ms: Number.isFinite(age_ms) ? Math.round(age_ms) : null,
  };
}

/** Lists names of headers only. The platform adds the provider's credential under a name that the agent does not know. */
function toForwarded({ method, path }: Target, headers: Readonly<Record<string, string>>) {
  const kept = toUpstreamHeaders(Object.entries(headers).flat());
  return { method, path: withoutCapability(path), headers: kept.filter((_, index) => index % 2 === 0) };
}

function toMessage(verdict: Verdict): string {
  if (verdict.type !== 'allow') return verdict.message;
  return verdict.rule === null ? 'the policy names no allowed paths, so all are' : `allowed by ${verdict.rule}`;
}
