// The records of checkpoints, which are files beside the trees: a tree and its record come and go in one rename, and a copy of the
// machine's directory has both.
import { opendir, readdir, stat } from 'node:fs/promises';
import { basename } from 'node:path';
import { z } from 'zod';
import { readJson, writeDurably } from '../../durable-json.ts';
import type { DriverCheckpoint } from '../../machine-checkpoints.ts';
import type { CheckpointFiles, CheckpointPlaces } from './checkpoint-places.ts';

const NAME = /^v(\d{1,15})$/;

const manifest = z.object({
  created_ms: z.number(),
  comment: z.string().optional(),
  source_id: z.string().optional(),
  is_auto: z.boolean(),
});
export type CheckpointManifest = z.infer<typeof manifest>;

const state = z.object({
  /** The number of the next checkpoint. */
  next: z.int().nonnegative(),
  /** Where the files of the machine come from. */
  current: z.string().optional(),
  /** What was begun last and may have to be finished. */
  pending: z
    .discriminatedUnion('type', [
      z.object({ type: z.literal('make'), id: z.string() }),
      /** `from`: the name of the directory with what is put in place. */
      z.object({ type: z.literal('restore'), id: z.string(), from: z.string() }),
    ])
    .optional(),
});
export type CheckpointState = z.infer<typeof state>;

export async function writeManifest(files: CheckpointFiles, record: CheckpointManifest): Promise<void> {
  await writeDurably(files.manifest, JSON.stringify(record));
}

export async function writeState(places: CheckpointPlaces, value: CheckpointState): Promise<void> {
  await writeDurably(places.state, JSON.stringify(value));
}

/** The numbers go on after the highest one where no state can be read. */
export async function readState(places: CheckpointPlaces): Promise<CheckpointState> {
  const stored = await readJson(places.state, state);
  const highest = (await listIds(places)).at(-1);
  const next = highest === undefined ? 0 : toNumber(highest) + 1;
  return { ...stored, next: Math.max(next, stored?.next ?? 0) };
}

/** The ids in the order of their numbers. */
export async function listIds(places: CheckpointPlaces): Promise<readonly string[]> {
  const names = await readdir(places.all).catch(() => []);
  return names.filter((name) => NAME.test(name)).toSorted((a, b) => toNumber(a) - toNumber(b));
}

/** Undefined when there is none. One without a record that can be read has the time of its directory. */
export async function readCheckpoint(files: CheckpointFiles): Promise<DriverCheckpoint | undefined> {
  const dir = await stat(files.dir).catch(() => undefined);
  if (dir === undefined) return undefined;
  const record = await readJson(files.manifest, manifest);
  const isReadable = await canList(files.tree);
  const known = record ?? { created_ms: dir.mtimeMs, is_auto: false };
  return { id: basename(files.dir), ...known, is_healthy: record !== undefined && isReadable };
}

async function canList(path: string): Promise<boolean> {
  try {
    await (await opendir(path)).close();
    return true;
  } catch {
    return false;
  }
}

function toNumber(id: string): number {
  return Number(NAME.exec(id)?.[1] ?? -1);
}
