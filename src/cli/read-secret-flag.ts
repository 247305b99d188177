// Reads a file with a secret that is named on the command line.
import { mayOthersRead } from '../linux/may-others-read.ts';
import type { Output } from './command.ts';
import { readFlagFile } from './read-flag-file.ts';

/** The text without white space around it; a file that every user may read is taken, with a remark. See `readFlagFile`. */
export function readSecretFlag(flag: string, path: string, out: Pick<Output, 'note'>): string {
  const secret = readFlagFile(flag, path).trim();
  if (path !== '-' && mayOthersRead(path)) out.note(`${flag}: others may read ${path}; chmod 600 ${path}`);
  return secret;
}
