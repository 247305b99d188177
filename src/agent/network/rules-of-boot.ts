// Whether the network policy on the disk is the one that is to hold. A disk may be older than its machine, as that of a checkpoint is: then the
// platform brings the rules, and nothing runs before.
import { existsSync, writeFileSync } from 'node:fs';
import type { NetworkPolicyRequest } from '../../contract/network-policy.ts';

export interface RulesOfBoot {
  /** Whether these rules of the disk may be taken for those that are to hold. */
  areThese(kept: NetworkPolicyRequest | undefined): Promise<boolean>;
  /** The platform has said which rules hold. */
  confirm(): void;
  /** Resolves then. */
  readonly confirmed: Promise<void>;
}

/**
 * @param digest of the rules that are to hold, as of the boot; undefined where there are none.
 * @param path of a file that is gone after the next boot, by which an agent that is started again knows that they were confirmed.
 */
export function createRulesOfBoot(digest: string | undefined, path: string): RulesOfBoot {
  const { promise: confirmed, resolve } = Promise.withResolvers<void>();
  return {
    confirmed,
    async areThese(kept) {
      if (digest === undefined || existsSync(path)) return true;
      const { digestRules } = await import('../../core/network-policy/digest-rules.ts');
      return digestRules(kept?.rules ?? []) === digest;
    },
    confirm() {
      if (digest === undefined) return;
      writeFileSync(path, '');
      resolve();
    },
  };
}
