// The rules of a network policy, read one by one: what each is, or what is wrong with it. Pure.
import type { NetworkPolicyRule } from '../../contract/network-policy.ts';
import { mapInTurns } from '../map-in-turns.ts';
import { type DomainPattern, readPattern } from './domain-pattern.ts';
import type { NetworkPreset } from './presets/network-preset.ts';

export type NetworkPresets = ReadonlyMap<string, NetworkPreset>;

export type RuleReading =
  | { readonly type: 'include'; readonly preset: NetworkPreset }
  | {
      readonly type: 'own';
      readonly action: 'allow' | 'deny';
      readonly domain: string;
      readonly pattern: DomainPattern;
    }
  /** `field` is the field of the rule; empty when it is the rule as a whole. */
  | { readonly type: 'problem'; readonly field: '' | 'domain' | 'include'; readonly message: string };

/** A name that is not in ASCII takes so many times as long to read. */
const OTHER_SCRIPT_COST = 8;
const RULE_COST = 32;

/** Reads them in several turns of the event loop when they are many. */
export function readRules(
  rules: readonly NetworkPolicyRule[],
  presets: NetworkPresets,
): Promise<readonly RuleReading[]> {
  return mapInTurns(rules, toCost, (rule) => readRule(rule, presets));
}

function toCost({ domain = '' }: NetworkPolicyRule): number {
  return RULE_COST + Buffer.byteLength(domain) * (/[^\0-\x7f]/.test(domain) ? OTHER_SCRIPT_COST : 1);
}

function readRule({ action, domain, include }: NetworkPolicyRule, presets: NetworkPresets): RuleReading {
  if (include !== undefined && action === undefined && domain === undefined) {
    const preset = presets.get(include);
    if (preset !== undefined) return { type: 'include', preset };
    return { type: 'problem', field: 'include', message: `is no preset; there are ${[...presets.keys()].join(', ')}` };
  }
  if (include !== undefined || action === undefined || domain === undefined) {
    return { type: 'problem', field: '', message: 'expected either include, or both action and domain' };
  }
  const pattern = readPattern(domain);
  if (pattern.type === 'problem') return { type: 'problem', field: 'domain', message: pattern.message };
  return { type: 'own', action, domain, pattern };
}
