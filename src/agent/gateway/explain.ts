// What the gateway would do with a call, in words. Pure: the verdict comes from the function that judges calls.
import type { ExplainRequest, GatewayExplanation } from '../../contract/local/gateway.ts';
import { withoutCapability } from '../../core/capability-query.ts';
import { GATEWAY_PREFIX, type GatewayTarget, parseGatewayTarget } from '../../core/gateway-target.ts';
import { toUpstreamHeaders } from '../../core/header-hygiene.ts';
import { toCanonicalPath } from '../../core/path-readings.ts';
import type { Target, Verdict } from './judge.ts';
import type { PolicySnapshot } from './policy-snapshot.ts';

/** The target that a call with these parts would have. Parts that would not stay the parts they are, are refused. */
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

/** `headers` are those of the call that is asked about. */
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

/** Names only. The credential of the provider is put in by the platform, under a name that the agent does not know. */
function toForwarded({ method, path }: Target, headers: Readonly<Record<string, string>>) {
  const kept = toUpstreamHeaders(Object.entries(headers).flat());
  return { method, path: withoutCapability(path), headers: kept.filter((_, index) => index % 2 === 0) };
}

function toMessage(verdict: Verdict): string {
  if (verdict.type !== 'allow') return verdict.message;
  return verdict.rule === null ? 'the policy names no allowed paths, so all are' : `allowed by ${verdict.rule}`;
}
