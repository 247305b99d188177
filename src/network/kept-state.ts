// What this process leaves for the one that comes after it: the rules, the generation that the kernel has, the names of open addresses.
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { networkEnforcement } from '../contract/local/network.ts';
import { NETWORK_STATE_FILE } from '../core/network-wire.ts';
import { LAST_GENERATION } from './ruleset.ts';

const GENERATION_FILE = 'last-generation';
const generation = z.int().min(0).max(LAST_GENERATION);

export const keptState = z.object({
  given: networkEnforcement,
  /** 0 while nothing is restricted. */
  generation,
  /** Where questions were led to. Programs go on to ask there over a socket that they have. */
  dns_port: z.int().min(0).max(65_535).optional(),
  /** An address, until when it is open, and the names that have led to it. */
  addresses: z.array(z.tuple([z.string(), z.number(), z.array(z.string())])),
});
export type KeptState = z.infer<typeof keptState>;

/** Undefined where there is none. Throws for a file that cannot be read: nobody may take it for no policy. */
export function readKeptState(directory: string): KeptState | undefined {
  let text: string;
  try {
    text = readFileSync(join(directory, NETWORK_STATE_FILE), 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
  return keptState.parse(JSON.parse(text));
}

/** The generation of the last policy, also while nothing is restricted: the next one is another. 0 where there was none, or nobody can tell. */
export function readLastGeneration(directory: string): number {
  try {
    const read = generation.safeParse(Number(readFileSync(join(directory, GENERATION_FILE), 'utf8')));
    return read.data ?? 0;
  } catch {
    return 0;
  }
}

/** Throws the error of the file system. */
export function writeLastGeneration(directory: string, last: number): void {
  const path = join(directory, GENERATION_FILE);
  writeFileSync(`${path}.new`, `${last}\n`, { mode: 0o600, flush: true });
  renameSync(`${path}.new`, path);
}

/** Writes it in one step. The file is there only while something is restricted. Throws the error of the file system. */
export function writeKeptState(directory: string, state: KeptState): void {
  const path = join(directory, NETWORK_STATE_FILE);
  if (state.generation === 0) {
    rmSync(path, { force: true });
    return;
  }
  writeFileSync(`${path}.new`, JSON.stringify(state), { mode: 0o600, flush: true });
  renameSync(`${path}.new`, path);
}
