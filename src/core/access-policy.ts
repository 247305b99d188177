// The access policy of a connector: which sprites may use it, and which paths (document 1, "AccessPolicy"; design.md,
// section 5). One pure decision for the agent, the platform's gateway and explain.
import { toPathReadings, toRuleReadings } from './path-readings.ts';
import { withoutQuery } from './without-query.ts';

export interface SpriteIdentity {
  readonly name: string;
  readonly labels: readonly string[];
}

export type DenialCode = 'unauthorized' | 'connection_denied' | 'endpoint_blocked' | 'endpoint_not_allowed';

/** `rule` is the policy's own text that decided; `reading` the path in the form in which it matched or failed to match. */
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
  readonly blocked: readonly Rule[];
  /** `undefined`: every path. An empty list: none. */
  readonly allowed: readonly Rule[] | undefined;
}

type Grant =
  | { readonly type: 'nobody' }
  | { readonly type: 'everybody' }
  | { readonly type: 'some'; readonly prefix: string; readonly labels: readonly string[] };

interface Rule {
  readonly source: string;
  /** Without the `*`, as it is written. */
  readonly literal: string;
  /** The literal in all its readings. */
  readonly forms: readonly string[];
  readonly isPrefix: boolean;
}

const denialMessages = {
  unauthorized: 'the call has no sprite identity',
  connection_denied: 'connection denies all sprites by default',
  endpoint_blocked: 'endpoint is blocked by policy',
  endpoint_not_allowed: 'endpoint is not in allowed list',
} as const satisfies Record<DenialCode, string>;

const denyAll: CompiledPolicy = { grant: { type: 'nobody' }, blocked: [], allowed: undefined };

/**
 * Compiles `policy`, whatever it is: an empty, missing or malformed one denies everything. Never throws. A rule that lost
 * its first slash or has several `*` at its end is read wide as a block rule and literally as an allow rule.
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
  return {
    grant: toGrant(all === true, prefix, labels),
    blocked: blocked.map(toBlockRule),
    allowed: allowedField === undefined ? undefined : allowed.map(toAllowRule),
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
  for (const reading of readings) {
    const rule = findBlock(policy.blocked, reading.toLowerCase());
    if (rule !== undefined) return deny('endpoint_blocked', rule.source, reading);
  }
  if (policy.allowed === undefined) return { type: 'allow', rule: undefined, reading: raw };
  const first = policy.allowed.find((rule) => matches(raw, rule.literal, rule.isPrefix));
  if (first === undefined) return deny('endpoint_not_allowed', undefined, raw);
  for (const reading of readings.slice(1)) {
    const isAllowed = policy.allowed.some((rule) => rule.forms.some((form) => matches(reading, form, rule.isPrefix)));
    if (!isAllowed) return deny('endpoint_not_allowed', undefined, reading);
  }
  return { type: 'allow', rule: first.source, reading: raw };
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

function toAllowRule(source: string): Rule {
  const isPrefix = source.endsWith('*');
  const literal = isPrefix ? source.slice(0, -1) : source;
  return { source, literal, forms: toRuleReadings(literal), isPrefix };
}

function toBlockRule(source: string): Rule {
  const isPrefix = source.endsWith('*');
  const bare = source.replace(/\*+$/, '');
  const literal = bare.startsWith('/') || (bare === '' && isPrefix) ? bare : `/${bare}`;
  return { source, literal, forms: toRuleReadings(literal).map((form) => form.toLowerCase()), isPrefix };
}

/** A block rule also covers the other case, the last slash, and, for `/x/*`, the collection `/x` itself. */
function findBlock(rules: readonly Rule[], reading: string): Rule | undefined {
  const bare = withoutLastSlash(reading);
  return rules.find((rule) =>
    rule.forms.some((form) => matches(reading, form, rule.isPrefix) || bare === withoutLastSlash(form)),
  );
}

function matches(reading: string, form: string, isPrefix: boolean): boolean {
  return isPrefix ? reading.startsWith(form) : reading === form;
}

function withoutLastSlash(path: string): string {
  return path.endsWith('/') ? path.replace(/\/+$/, '') : path;
}

function deny(code: DenialCode, rule: string | undefined, reading: string | undefined): Decision {
  return { type: 'deny', code, message: denialMessages[code], rule, reading };
}

function toTexts(value: unknown): readonly string[] | undefined {
  return Array.isArray(value) && value.every((item) => typeof item === 'string') ? value : undefined;
}
