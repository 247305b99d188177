// The policies of privileges and resources as one short text, by which a machine knows without asking whether those on its disk are those that
// are to hold. Pure.
import { hash } from 'node:crypto';
import type { ProgramPolicy } from '../contract/local/program-policy.ts';
import { toProgramPolicy } from './program-policy.ts';

/** Equal for policies that say the same, with their devices in the same order, and for no others. 64 hexadecimal digits. */
export function digestProgramPolicy(policy: ProgramPolicy): string {
  const { privileges, resources } = toProgramPolicy(policy);
  const { profile = null, devices = null, noNewPrivileges = null } = privileges;
  const { limit_mb = null, autoscale = null } = resources.memory ?? {};
  return hash('sha256', JSON.stringify([profile, devices, noNewPrivileges, limit_mb, autoscale]));
}
