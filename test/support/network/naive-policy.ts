// A network policy as a model that knows no table: it sorts all rules by how specific they are and takes the first that covers the name.
import type { NetworkPolicyRule } from '../../../src/contract/network-policy.ts';
import type { NetworkPreset } from '../../../src/core/network-policy/presets/network-preset.ts';

interface Covered {
  readonly labels: readonly string[];
  readonly isWild: boolean;
  readonly isOwn: boolean;
  readonly action: 'allow' | 'deny';
}

export interface NaiveJudgement {
  readonly action: 'allow' | 'deny';
  /** That of a rule for more than every name. */
  readonly isSpecific: boolean;
}

const toPlain = (domain: string) =>
  domain.toLowerCase().replaceAll('bücher', 'xn--bcher-kva').replace(/\.$/, '').split('.');

export function judgeNaively(
  rules: readonly NetworkPolicyRule[],
  presets: ReadonlyMap<string, NetworkPreset>,
  name: string,
): NaiveJudgement {
  if (rules.length === 0) return { action: 'allow', isSpecific: false };
  const all = rules.flatMap(({ action, domain, include }): Covered[] => {
    const domains = include === undefined ? [domain ?? ''] : (presets.get(include)?.domains ?? []);
    return domains.map((each) => {
      const isWild = each.startsWith('*');
      const parts = toPlain(each).slice(isWild ? 1 : 0);
      return { labels: parts, isWild, isOwn: include === undefined, action: action ?? 'allow' };
    });
  });
  const asked = toPlain(name);
  const covering = all.filter((each) => {
    const end = asked.slice(asked.length - each.labels.length);
    if (each.labels.length > asked.length || end.join('.') !== each.labels.join('.')) return false;
    return each.isWild ? asked.length > each.labels.length : asked.length === each.labels.length;
  });
  const weigh = (each: Covered) => [
    each.isWild ? 0 : 1,
    each.labels.length,
    each.isOwn ? 1 : 0,
    each.action === 'deny' ? 1 : 0,
  ];
  covering.sort((one, other) => {
    const [left, right] = [weigh(one), weigh(other)];
    const at = left.findIndex((value, index) => value !== right[index]);
    return at === -1 ? 0 : (right[at] ?? 0) - (left[at] ?? 0);
  });
  const [first] = covering;
  return first === undefined
    ? { action: 'deny', isSpecific: false }
    : { action: first.action, isSpecific: first.labels.length > 0 };
}
