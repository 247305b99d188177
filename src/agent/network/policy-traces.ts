// The files by which a disk tells that something is restricted: those of the agent, and those of the process that enforces.
import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { NetworkPolicyRequest } from '../../contract/network-policy.ts';
import { NETWORK_STATE_DIR, NETWORK_STATE_FILE, NETWORK_UNIT_STATE_DIR } from '../../core/network-wire.ts';
import { readPolicy, writePolicy } from './policy-files.ts';

export interface PolicyTraces {
  /** The rules that have to hold after the next start; undefined while nothing is restricted. Throws for a file that cannot be read. */
  kept(): NetworkPolicyRequest | undefined;
  /** Throws the error of the file system. */
  keep(policy: NetworkPolicyRequest): void;
  areThere(): boolean;
  /** Those in the state directory of the agent. */
  removeOwn(): void;
}

const FOR_OWNER = 0o600;

export function createPolicyTraces(stateDir: string): PolicyTraces {
  const keptPath = join(stateDir, 'network-policy.json');
  const own = [keptPath, join(stateDir, NETWORK_STATE_DIR, NETWORK_STATE_FILE)];
  const all = [...own, join(NETWORK_UNIT_STATE_DIR, NETWORK_STATE_FILE)];
  return {
    kept: () => readPolicy(keptPath),
    keep(policy) {
      if (policy.rules.length > 0) writePolicy(keptPath, policy, FOR_OWNER);
      else rmSync(keptPath, { force: true });
    },
    areThere: () => all.some((trace) => existsSync(trace)),
    removeOwn() {
      for (const trace of own) rmSync(trace, { force: true });
    },
  };
}
