// A network policy in a few words: `+a -b @c` allows a, denies b and includes c.
import type { NetworkPolicyRule } from '../../src/contract/network-policy.ts';

export function readPolicy(text: string): NetworkPolicyRule[] {
  return text
    .split(' ')
    .filter((word) => word !== '')
    .map((word): NetworkPolicyRule => {
      const rest = word.slice(1);
      if (word.startsWith('@')) return { include: rest };
      return { action: word.startsWith('+') ? 'allow' : 'deny', domain: rest };
    });
}
