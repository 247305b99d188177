// A network policy as one short text, by which a machine knows without asking whether the one on its disk is the one that is to hold. Pure.
import { hash } from 'node:crypto';
import type { NetworkPolicyRule } from '../../contract/network-policy.ts';

/** Equal for equal rules in the same order, and for no others. 64 hexadecimal digits. */
export function digestRules(rules: readonly NetworkPolicyRule[]): string {
  const fields = rules.map(({ action = null, domain = null, include = null }) => [action, domain, include]);
  return hash('sha256', JSON.stringify(fields));
}
