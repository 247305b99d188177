// What a machine has when nothing else is asked for.
import { DEFAULT_MEMORY_MB } from './machine-views.ts';

/** The one region that there is, and the processors that the record of every machine has. */
export const REGION = 'local';
export const CPUS = 1;

/** What runs machines: the one that there is. */
export const DRIVER = 'process';

export const DEFAULT_GUEST = { memory_mb: DEFAULT_MEMORY_MB, cpus: CPUS } as const;

/** The address of a machine in the private IPv6 range, from 14 random bytes. */
export function toPrivateAddress(bytes: Buffer): string {
  const groups = Array.from({ length: 7 }, (_, index) => bytes.readUInt16BE(index * 2).toString(16));
  return `fdaa:${groups.join(':')}`;
}
