// The access policy of a connector: which sprites may use it, and which paths (Sandbox API, AccessPolicy). The agent, the
// gateway of the platform and the dry run share this one decision. Pure.

import { withoutQuery } from '../without-query.ts';
import { toPathReadings } from './path-readings.ts';
import { compilePathRules, type PathRules } from './path-rules.ts';

export interface SpriteIdentity {
  readonly name: string;
  readonly labels: readonly string[];
}

export type DenialCode = 'unauthorized' | 'connection_denied' | 'endpoint_blocked' | 'endpoint_not_allowed';

/** `rule` is the text of the rule that decided; `reading` the form of the path that it matched or failed to match. */
export type Decision =
  | { readonly type: 'allow'; readonly rule: string | undefined; readonly reading: string }
  | {
      readonly type: 'deny';
      readonly code: DenialCode;
      readonly message: string;
      readonly rule: string | undefined;
      readonly reading: string | undefined;
    };

/** A policy made ready for many decisions. Opaque: made by `compilePolicy`, read by `decide`. */
export interface CompiledPolicy {
  readonly grant: Grant;
  /** Compiled when the first path is judged: most policies are only asked which sprites they are for. */
  readonly rules: () => PathRules;
}

type Grant =
  | { readonly type: 'nobody' }
  | { readonly type: 'everybody' }
  | { readonly type: 'some'; readonly prefix: string; readonly labels: readonly string[] };

const denialMessages = {
  unauthorized: 'the call has no sprite identity',
  connection_denied: 'connection denies all sprites by default',
  endpoint_blocked: 'endpoint is blocked by policy',
  endpoint_not_allowed: 'endpoint is not in allowed list',
} as const satisfies Record<DenialCode, string>;

const denyAll: CompiledPolicy = { grant: { type: 'nobody' }, rules: () => compilePathRules([], []) };

/**
 * Prepares `policy`, whatever it is: an empty, missing or malformed one denies everything. Never throws. A rule that a new
 * policy may not hold still counts in a stored one: see `compilePathRules`.
 */
export function compilePolicy(policy: unknown): CompiledPolicy {
  if (typeof policy !== 'object' || policy === null) return denyAll;
  const field = (name: string): unknown => (Object.hasOwn(policy, name) ? Reflect.get(policy, name) : undefined);
  const all = field('allow_all');
  const prefix = field('name_prefix') ?? '';
  const labels = toTexts(field('sprite_labels') ?? []);
  const blocked = toTexts(field('blocked_endpoints') ?? []);
  const allowedField = field('allowed_endpoints');
  const allowed = allowedField === undefined ? [] : toTexts(allowedField);
  if (all !== undefined && typeof all !== 'boolean') return denyAll;
  if (typeof prefix !== 'string' || labels === undefined || blocked === undefined || allowed === undefined) {
    return denyAll;
  }
  let rules: PathRules | undefined;
  return {
    grant: toGrant(all === true, prefix, labels),
    rules() {
      rules ??= compilePathRules(blocked, allowedField === undefined ? undefined : allowed);
      return rules;
    },
  };
}

/**
 * Decides one call. `path` is the provider's path as it was sent, with or without a query, and has passed
 * `parseGatewayTarget`. Without a sprite the answer is `unauthorized`.
 */
export function decide(policy: CompiledPolicy, sprite: SpriteIdentity | null, path: string): Decision {
  if (sprite === null) return deny('unauthorized', undefined, undefined);
  if (!isGranted(policy, sprite)) return deny('connection_denied', undefined, undefined);
  const raw = withoutQuery(path);
  const readings = toPathReadings(raw);
  if (readings === undefined) return deny('endpoint_not_allowed', undefined, raw);
  const { findBlock, allowed } = policy.rules();
  for (const reading of readings) {
    const rule = findBlock(reading);
    if (rule !== undefined) return deny('endpoint_blocked', rule, reading);
  }
  if (allowed === undefined) return { type: 'allow', rule: undefined, reading: raw };
  const rule = allowed.findAsSent(raw);
  if (rule === undefined) return deny('endpoint_not_allowed', undefined, raw);
  const strange = readings.find((reading) => reading !== raw && !allowed.covers(reading));
  if (strange !== undefined) return deny('endpoint_not_allowed', undefined, strange);
  return { type: 'allow', rule, reading: raw };
}

/** Whether the sprite may use the connector at all, whatever the path. */
export function isGranted({ grant }: CompiledPolicy, sprite: SpriteIdentity): boolean {
  switch (grant.type) {
    case 'nobody':
      return false;
    case 'everybody':
      return true;
    case 'some':
      return sprite.name.startsWith(grant.prefix) && grant.labels.every((label) => sprite.labels.includes(label));
    default:
      return grant satisfies never;
  }
}

function toGrant(all: boolean, prefix: string, labels: readonly string[]): Grant {
  if (all) return { type: 'everybody' };
  return prefix === '' && labels.length === 0 ? { type: 'nobody' } : { type: 'some', prefix, labels };
}

function deny(code: DenialCode, rule: string | undefined, reading: string | undefined): Decision {
  return { type: 'deny', code, message: denialMessages[code], rule, reading };
}

function toTexts(value: unknown): readonly string[] | undefined {
  return Array.isArray(value) && value.every((item) => typeof item === 'string') ? value : undefined;
}
