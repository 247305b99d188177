// What is missing here for a network policy, as people can provide it.
import { existsSync } from 'node:fs';
import { type Capability, findMissing } from '../../linux/processes/capabilities.ts';

const ROOT = 0;
/** The rights to change the packet filter, to read its program and its own directory, and to become a user of its own with nothing else. */
const NEEDED: readonly Capability[] = [
  'CAP_NET_ADMIN',
  'CAP_DAC_READ_SEARCH',
  'CAP_SETUID',
  'CAP_SETGID',
  'CAP_SETPCAP',
];

/** Undefined where the process that enforces it serves, or can be started. @param uid the user of the agent. */
export function whyNotEnforced(path: string, mayStart: boolean, uid: number): string | undefined {
  if (existsSync(path)) return undefined;
  if (!mayStart) return 'remora-network.socket, or an agent of root with network_policy = true (REMORA_NETWORK_POLICY)';
  if (uid !== ROOT) return 'an agent that root runs';
  const missing = findMissing(NEEDED);
  return missing.length === 0 ? undefined : `an agent with ${missing.join(', ')}`;
}
