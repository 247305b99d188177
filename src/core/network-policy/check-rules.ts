// Refuses rules that say too little, too much or what no name can be, before anything is made of them. Pure.
import type { NetworkPolicyRule } from '../../contract/network-policy.ts';
import { refuseFields } from '../refuse-field.ts';
import { networkPresets } from './presets/network-presets.ts';
import { type NetworkPresets, readRules } from './read-rules.ts';

/** So many are named; the rest is counted. */
const SHOWN = 20;

/**
 * Rejects with `invalid_request`. `where` is the path of the list, as in `body.rules`; the failing fields are in `details.fields`, each with
 * what to write.
 */
export async function checkRules(
  rules: readonly NetworkPolicyRule[],
  where: string,
  presets: NetworkPresets = networkPresets,
): Promise<void> {
  const readings = await readRules(rules, presets);
  const problems = readings.flatMap((reading, index) => {
    if (reading.type !== 'problem') return [];
    const field = reading.field === '' ? `${where}.${index}` : `${where}.${index}.${reading.field}`;
    return [{ field, message: reading.message }];
  });
  if (problems.length > 0) throw refuseFields(problems.slice(0, SHOWN), problems.length);
}
