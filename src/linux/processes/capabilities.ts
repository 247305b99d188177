// What this process may do beyond what its user may (capabilities(7)).
import { readFileSync } from 'node:fs';

const bits = {
  CAP_DAC_READ_SEARCH: 2n,
  CAP_SETGID: 6n,
  CAP_SETUID: 7n,
  CAP_SETPCAP: 8n,
  CAP_NET_ADMIN: 12n,
  CAP_SYS_PTRACE: 19n,
  CAP_PERFMON: 38n,
  CAP_BPF: 39n,
} as const;
export type Capability = keyof typeof bits;

/** Whether this process may become any user. True on a kernel that does not say. */
export function mayChangeUser(status = readStatus()): boolean {
  return findMissing(['CAP_SETGID', 'CAP_SETUID'], status).length === 0;
}

/** Those of `wanted` that this process has not. None on a kernel that does not say. */
export function findMissing(wanted: readonly Capability[], status = readStatus()): readonly Capability[] {
  const held = /^CapEff:\s*([0-9a-f]+)$/m.exec(status)?.[1];
  if (held === undefined) return [];
  const mask = BigInt(`0x${held}`);
  return wanted.filter((name) => ((mask >> bits[name]) & 1n) === 0n);
}

function readStatus(): string {
  try {
    return readFileSync('/proc/self/status', 'latin1');
  } catch {
    return '';
  }
}
