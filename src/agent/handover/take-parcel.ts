// Taking what the former image of this process left, if there was one.
import { closeSync, fstatSync, readSync } from 'node:fs';
import { type Parcel, parseParcel } from './parcel.ts';

/** `PID:DESCRIPTOR`: for this process and no child of it. */
export const HANDOVER_VARIABLE = 'REMORA_HANDOVER';

/** Takes the variable out of `env`. Undefined for a start that is no re-exec. Throws when what was left cannot be read. */
export function takeParcel(env: NodeJS.ProcessEnv, pid: number): Parcel | undefined {
  const value = env[HANDOVER_VARIABLE];
  delete env[HANDOVER_VARIABLE];
  const [owner, descriptor] = (value ?? '').split(':').map(Number);
  if (owner !== pid || descriptor === undefined) return undefined;
  try {
    return parseParcel(readWhole(descriptor));
  } finally {
    closeSync(descriptor);
  }
}

function readWhole(fd: number): string {
  const bytes = Buffer.alloc(fstatSync(fd).size);
  let at = 0;
  while (at < bytes.length) {
    const read_bytes = readSync(fd, bytes, at, bytes.length - at, at);
    if (read_bytes === 0) break;
    at += read_bytes;
  }
  return bytes.toString('utf8', 0, at);
}
