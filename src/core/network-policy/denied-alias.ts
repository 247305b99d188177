// Whether the aliases of an allowed name lead to one that a rule denies. Pure.
// DECISIONS.md, "Aliases under a network policy"
import type { NetworkPolicy } from './compile-policy.ts';

/** Denies what no other rule speaks of, and so it says nothing of an alias. */
const EVERY_NAME = '*';

/** The first of these names that a rule denies, other than the rule for every name. `aliases`: without the name that was asked. */
export function findDeniedAlias(aliases: readonly string[], policy: NetworkPolicy): string | undefined {
  return aliases.find((alias) => {
    const { verdict, rule } = policy.judgeName(alias);
    return verdict === 'deny' && rule !== undefined && rule.domain !== EVERY_NAME;
  });
}
