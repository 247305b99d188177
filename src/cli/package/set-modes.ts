// Modes that do not depend on the user who makes a tree, nor on where its files come from.
import { chmodSync, lstatSync, lutimesSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

const OWNER_RUNS = 0o100;
const [PROGRAM, FILE] = [0o755, 0o644];

/** Everybody may read all of it, and run what its owner may run. `time_s`: when everything in it was changed last, where given. */
export function setModes(tree: string, time_s?: number): void {
  for (const path of ['.', ...readdirSync(tree, { recursive: true, encoding: 'utf8' })].map((each) =>
    join(tree, each),
  )) {
    const stat = lstatSync(path);
    const runs = stat.isDirectory() || (stat.mode & OWNER_RUNS) !== 0;
    if (!stat.isSymbolicLink()) chmodSync(path, runs ? PROGRAM : FILE);
    if (time_s !== undefined) lutimesSync(path, time_s, time_s);
  }
}
