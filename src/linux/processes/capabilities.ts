// What this process may do beyond what its user may (capabilities(7)).
import { readFileSync } from 'node:fs';

const CAP_SETGID = 6n;
const CAP_SETUID = 7n;

/** Whether this process may become any user. True on a kernel that does not say. */
export function mayChangeUser(status = readStatus()): boolean {
  const held = /^CapEff:\s*([0-9a-f]+)$/m.exec(status)?.[1];
  if (held === undefined) return true;
  const bits = BigInt(`0x${held}`);
  return [CAP_SETGID, CAP_SETUID].every((bit) => ((bits >> bit) & 1n) === 1n);
}

function readStatus(): string {
  try {
    return readFileSync('/proc/self/status', 'latin1');
  } catch {
    return '';
  }
}
