// What the gateway would do with a call, decided by the functions that serve real calls. Pure: nothing is sent, and no credential is read.
import type { AccessPolicy } from '../../contract/access-policy.ts';
import { errorStatus } from '../../contract/errors.ts';
import type { CredentialPlace, DryRunRequest, GatewayDryRun } from '../../contract/gateway-discovery.ts';
import type { Decision, SpriteIdentity } from '../../core/gateway/access-policy.ts';
import { GATEWAY_PREFIX, type GatewayTarget, parseGatewayTarget } from '../../core/gateway/gateway-target.ts';
import { toUpstreamHeaders } from '../../core/gateway/header-hygiene.ts';
import { toCanonicalPath } from '../../core/gateway/path-readings.ts';
import type { RemoraError } from '../../core/remora-error.ts';
import { Secret } from '../../core/secret.ts';
import type { CatalogueEntry, Injection } from '../catalogue/catalogue-entry.ts';
import { toProviderCall } from '../upstream/provider-call.ts';

/** Shown in place of the credential; it looks the same when encoded in a query. */
const PLACEHOLDER = '(credential)';

type Target = Extract<GatewayTarget, { readonly type: 'target' }>;

/** The request target of the call; a `reject` for a part, such as a provider with a slash, that would change how the target is split. */
export function toDryRunTarget({ method, url, provider, connector_id, path, headers }: DryRunRequest): GatewayTarget {
  const rawHeaders = Object.entries(headers).flat();
  if (url !== undefined) return parseGatewayTarget(method, url.replace(/^https?:\/\/[^/?#]*/i, ''), rawHeaders);
  const target = parseGatewayTarget(method, `${GATEWAY_PREFIX}${provider}/${connector_id}${path}`, rawHeaders);
  if (target.type === 'reject') return target;
  const isSame = target.provider === provider && target.connector_id === connector_id && target.path === path;
  if (isSame) return target;
  return { type: 'reject', code: 'invalid_target', message: 'provider and connector_id may hold neither "/" nor "?"' };
}

export interface DryRun {
  readonly request: DryRunRequest;
  readonly sprite: SpriteIdentity | null;
  readonly target: GatewayTarget;
  /** The connector's policy; absent when there is no such connector, or the target names none. */
  readonly policy?: AccessPolicy | undefined;
  readonly decision?: Decision;
  /** The error that the call would get for another reason than the policy. */
  readonly obstacle?: Pick<RemoraError, 'code' | 'message'> | undefined;
  /** The request that the provider would receive; present when the call would be forwarded. */
  readonly forwarded?: NonNullable<GatewayDryRun['forwarded']>;
}

export function toDryRunAnswer(run: DryRun): GatewayDryRun {
  const { target, decision, sprite, obstacle } = run;
  const refusal = target.type === 'reject' ? target : decision?.type === 'deny' ? decision : obstacle;
  const isDenied = decision?.type === 'deny' && target.type === 'target';
  return {
    decision: refusal === undefined ? 'allow' : isDenied ? 'deny' : 'reject',
    ...(refusal === undefined ? {} : { code: refusal.code, status: errorStatus[refusal.code] }),
    message: refusal?.message ?? toReason(decision),
    rule: decision?.rule ?? null,
    reading: decision?.reading ?? null,
    canonical: target.type === 'target' ? toCanonicalPath(target.path) : null,
    forwarded: (refusal === undefined ? run.forwarded : undefined) ?? null,
    sprite: sprite === null ? null : { name: sprite.name, labels: [...sprite.labels] },
    policy: run.policy ?? null,
  };
}

export interface ForwardedCall {
  readonly entry: CatalogueEntry;
  readonly injection: Injection;
  readonly address: string;
  readonly target: Target;
  readonly headers: Readonly<Record<string, string>>;
  readonly renews_token: boolean;
}

export function toForwarded(call: ForwardedCall): NonNullable<GatewayDryRun['forwarded']> {
  const { entry, injection, address, target, renews_token } = call;
  const rawHeaders = Object.entries(call.headers).flat();
  const caller = { path: target.path, rawHeaders };
  const { origin, path, injected } = toProviderCall({ ...entry, injection }, address, new Secret(PLACEHOLDER), caller);
  const sent = toUpstreamHeaders(rawHeaders, injected);
  const headers = sent.flatMap((name, at) => (at % 2 === 0 ? [{ name, value: sent[at + 1] ?? '' }] : []));
  return { method: target.method, url: origin + path, headers, injection: toPlace(injection), renews_token };
}

export function toPlace(injection: Injection): CredentialPlace {
  return { in: injection.in, name: injection.in === 'path' ? null : injection.name };
}

function toReason(decision: Decision | undefined): string {
  const rule = decision?.rule;
  return rule === undefined ? 'the policy names no allowed paths, so all are' : `allowed by ${rule}`;
}
