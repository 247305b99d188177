// The files by which a disk tells that something is restricted: those of the agent, and those of the process that enforces.
import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { NETWORK_STATE_DIR, NETWORK_STATE_FILE, NETWORK_UNIT_STATE_DIR } from '../../core/network-wire.ts';

export interface PolicyTraces {
  /** Of the rules that have to hold after the next start. */
  readonly keptPath: string;
  areThere(): boolean;
  /** Those in the state directory of the agent. */
  removeOwn(): void;
}

export function createPolicyTraces(stateDir: string): PolicyTraces {
  const keptPath = join(stateDir, 'network-policy.json');
  const own = [keptPath, join(stateDir, NETWORK_STATE_DIR, NETWORK_STATE_FILE)];
  const all = [...own, join(NETWORK_UNIT_STATE_DIR, NETWORK_STATE_FILE)];
  return {
    keptPath,
    areThere: () => all.some((trace) => existsSync(trace)),
    removeOwn() {
      for (const trace of own) rmSync(trace, { force: true });
    },
  };
}
