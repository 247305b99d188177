// The network policy of a sprite, made ready to judge names: the most specific rule decides, whatever the order (Sandbox API, Network
// policy records; DECISIONS.md, "Which rule of a network policy decides"). Pure.
import type { NetworkPolicyRule } from '../../contract/network-policy.ts';
import { RemoraError } from '../remora-error.ts';
import { normalizeName } from './domain-name.ts';
import { readPattern } from './domain-pattern.ts';
import { networkPresets } from './presets/network-presets.ts';
import { type NetworkPresets, readRules } from './read-rules.ts';

/** The rule that decided. */
export interface DecidingRule {
  /** Where it stands in the list; of a domain that a preset brought, where the rule with the `include` stands. */
  readonly index: number;
  readonly action: 'allow' | 'deny';
  /** The pattern as it is written in the rule or in the preset. */
  readonly domain: string;
  /** The name of the preset that brought it. */
  readonly include?: string;
}

/** The verdict without a rule is `allow` when nothing is restricted, and `deny` when no rule covers the name. */
export interface NameJudgement {
  readonly verdict: 'allow' | 'deny';
  readonly rule?: DecidingRule;
}

export interface NetworkPolicy {
  /** Nothing is restricted: there are no rules. */
  readonly isUnrestricted: boolean;
  /** `name` in any form that `normalizeName` takes. The cost grows with its labels, and not with the number of rules. */
  judgeName(name: string): NameJudgement;
}

/** Rejects with `invalid_request` for a rule that `checkRules` refuses: a policy that lost a rule would open what it closes. */
export async function compilePolicy(
  rules: readonly NetworkPolicyRule[],
  presets: NetworkPresets = networkPresets,
): Promise<NetworkPolicy> {
  if (rules.length === 0) return { isUnrestricted: true, judgeName: () => ({ verdict: 'allow' }) };
  const table = new PatternTable();
  const included = new Set<string>();
  const readings = await readRules(rules, presets);
  readings.forEach((reading, index) => {
    if (reading.type === 'problem') throw new RemoraError('invalid_request', `rule ${index}: ${reading.message}`);
    if (reading.type === 'own') {
      const { action, domain } = reading;
      table.add(reading.pattern.type, reading.pattern.name, { index, action, domain });
      return;
    }
    const { name: include, domains } = reading.preset;
    if (included.has(include)) return;
    included.add(include);
    for (const domain of domains) {
      const pattern = readPattern(domain);
      if (pattern.type === 'problem') throw new Error(`preset ${include}: ${domain} ${pattern.message}`);
      table.add(pattern.type, pattern.name, { index, action: 'allow', domain, include });
    }
  });
  return {
    isUnrestricted: false,
    judgeName(text) {
      const name = normalizeName(text);
      const rule = name === undefined ? undefined : table.find(name);
      return rule === undefined ? { verdict: 'deny' } : { verdict: rule.action, rule };
    },
  };
}

/** Holds at most one rule for each pattern. */
class PatternTable {
  readonly #rules = {
    exact: new Map<string, DecidingRule>(),
    /** The rules by the parent; the empty one is that of every name. */
    below: new Map<string, DecidingRule>(),
  };

  add(type: 'exact' | 'below', name: string, rule: DecidingRule): void {
    const present = this.#rules[type].get(name);
    if (present === undefined || takesPrecedence(rule, present)) this.#rules[type].set(name, rule);
  }

  find(name: string): DecidingRule | undefined {
    const { exact, below } = this.#rules;
    const own = exact.get(name);
    if (own !== undefined) return own;
    for (let dot = name.indexOf('.'); dot !== -1; dot = name.indexOf('.', dot + 1)) {
      const rule = below.get(name.slice(dot + 1));
      if (rule !== undefined) return rule;
    }
    return below.get('');
  }
}

/** Whether a rule beats one with the same pattern: what the owner wrote beats what a preset brought, then `deny` beats `allow`. */
function takesPrecedence(rule: DecidingRule, present: DecidingRule): boolean {
  const isOwn = rule.include === undefined;
  if (isOwn !== (present.include === undefined)) return isOwn;
  return rule.action === 'deny' && present.action === 'allow';
}
