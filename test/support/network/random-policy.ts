// Random names and rules of few labels, so that patterns and names meet often.
import type { NetworkPolicyRule } from '../../../src/contract/network-policy.ts';
import type { Dice } from '../dice.ts';

export const LABELS = ['a', 'b', 'c', 'xn--bcher-kva'] as const;

export function toName(dice: Dice, most = 4): string {
  return Array.from({ length: 1 + dice.below(most) }, () => dice.pick(LABELS)).join('.');
}

/** The same name, written in another way. */
export function disguise(dice: Dice, name: string): string {
  const letters = [...name].map((letter) => (dice.chance(20) ? letter.toUpperCase() : letter)).join('');
  const script = dice.chance(20) ? letters.replaceAll(/xn--bcher-kva/gi, 'BÜcher') : letters;
  return dice.chance(20) ? `${script}.` : script;
}

export function toDomain(dice: Dice): string {
  if (dice.chance(8)) return '*';
  return dice.chance(45) ? `*.${disguise(dice, toName(dice))}` : disguise(dice, toName(dice));
}

/** @param presets names of those that it may include. */
export function toRule(dice: Dice, presets: readonly [string, ...string[]]): NetworkPolicyRule {
  if (dice.chance(15)) return { include: dice.pick(presets) };
  return { action: dice.pick(['allow', 'deny']), domain: toDomain(dice) };
}
