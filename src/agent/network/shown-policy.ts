// The network policy that holds since the boot, as every program may read it: a file that is gone with the next one.
import type { NetworkPolicyRequest } from '../../contract/network-policy.ts';
import type { Log } from '../../core/log.ts';
import { readPolicy, writePolicy } from './policy-files.ts';

export interface ShownPolicy {
  /** A file that cannot be written only costs those that read it. */
  show(policy: NetworkPolicyRequest): void;
  /** Whether something was restricted last. Throws for a file that cannot be read. */
  isRestricted(): boolean;
}

const FOR_ALL = 0o444;

export function createShownPolicy(path: string, log: Log): ShownPolicy {
  return {
    show(policy) {
      try {
        writePolicy(path, policy, FOR_ALL);
      } catch (err) {
        log.warn({ err }, `${path} cannot be written`);
      }
    },
    isRestricted: () => (readPolicy(path)?.rules.length ?? 0) > 0,
  };
}
