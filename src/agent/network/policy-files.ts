// The files of the network policy: what has to hold after the next start, for the agent alone, and what holds now, for everybody to read.
import { readFileSync } from 'node:fs';
import { type NetworkPolicyRequest, networkPolicyRequest } from '../../contract/network-policy.ts';
import { errorCode } from '../../core/error-code.ts';
import { replaceFile } from '../../linux/replace-file.ts';

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

/** Writes the file in one step, whatever the mask of this process. Throws the error of the file system. */
export function writePolicy(path: string, policy: NetworkPolicyRequest, mode: number): void {
  replaceFile(path, `${JSON.stringify(policy)}\n`, mode);
}
