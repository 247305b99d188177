// The files of the network policy: what has to hold after the next start, for the agent alone, and what holds now, for everybody to read.
import { closeSync, fchmodSync, fsyncSync, openSync, readFileSync, renameSync, rmSync, writeSync } from 'node:fs';
import { type NetworkPolicyRequest, networkPolicyRequest } from '../../contract/network-policy.ts';
import { errorCode } from '../../core/error-code.ts';

/** Undefined while nothing is restricted. Throws for a file that cannot be read: nobody may take it for no policy. */
export function readPolicy(path: string): NetworkPolicyRequest | undefined {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined;
    throw error;
  }
  return networkPolicyRequest.parse(JSON.parse(text));
}

/** In one step, whatever the mask of this process. Throws the error of the file system. */
export function writePolicy(path: string, policy: NetworkPolicyRequest, mode: number): void {
  const early = `${path}~`;
  rmSync(early, { force: true });
  // Exclusive creation follows no link.
  const file = openSync(early, 'wx', mode);
  try {
    fchmodSync(file, mode);
    writeSync(file, `${JSON.stringify(policy)}\n`);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  renameSync(early, path);
}
