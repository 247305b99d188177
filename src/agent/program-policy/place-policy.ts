// What holds for programs, placed where the supervisor reads it: for one that has not started yet.
import { rmSync } from 'node:fs';
import { dirname } from 'node:path';
import type { ProgramPolicy } from '../../contract/local/program-policy.ts';
import { isEmptyPolicy, toProgramPolicy } from '../../core/program-policy.ts';
import { makeDirectory } from '../../linux/make-directory.ts';
import { replaceFile } from '../../linux/replace-file.ts';

const DIRECTORY_MODE = 0o700;
const FILE_MODE = 0o600;

/** Throws the error of the file system. */
export function placePolicy(path: string, policy: ProgramPolicy): void {
  if (isEmptyPolicy(policy)) rmSync(path, { force: true });
  else {
    makeDirectory(dirname(path), DIRECTORY_MODE);
    replaceFile(path, JSON.stringify(toProgramPolicy(policy)), FILE_MODE);
  }
}
