// The checkpoints of a virtual machine on the disk: for each a frozen disk `vN.qcow2` in the directory of the machine, on which later ones
// lie, and a record. Pure but for the files.
import { existsSync } from 'node:fs';
import { mkdir, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { readJson, syncDirectory, writeDurably } from '../durable-json.ts';
import type { DriverCheckpoint } from '../machine-checkpoints.ts';
import type { MachineFiles } from './machine-files.ts';

const NAME = /^v(\d{1,15})\.json$/;

const record = z.object({
  created_ms: z.number(),
  comment: z.string().optional(),
  source_id: z.string().optional(),
  is_auto: z.boolean(),
});
export type CheckpointRecord = z.infer<typeof record>;

const counter = z.object({ next: z.int().nonnegative() });
const copied = z.object({ id: z.string(), disk: z.string() });

export const diskOf = (files: MachineFiles, id: string) => join(files.dir, `${id}.qcow2`);
export const recordOf = (files: MachineFiles, id: string) => join(files.checkpoints, `${id}.json`);
const copiedOf = (files: MachineFiles) => join(files.checkpoints, 'copied.json');
const counterOf = (files: MachineFiles) => join(files.checkpoints, 'next.json');

/** The checkpoints in the order of their numbers. One without its disk, or without a record that can be read, is not healthy. */
export async function listCheckpoints(files: MachineFiles): Promise<DriverCheckpoint[]> {
  const numbers = await listNumbers(files);
  return await Promise.all(
    numbers.map(async (number) => {
      const id = `v${number}`;
      const known = await readJson(recordOf(files, id), record);
      const isThere = existsSync(diskOf(files, id)) && existsSync(files.base);
      return { id, ...(known ?? { created_ms: 0, is_auto: false }), is_healthy: known !== undefined && isThere };
    }),
  );
}

export async function writeCheckpointRecord(files: MachineFiles, id: string, given: CheckpointRecord): Promise<void> {
  await writeDurably(recordOf(files, id), JSON.stringify(given));
}

/** Notes that the disk, which is as it was, has the checkpoint `id` as its copy. */
export async function writeCopied(files: MachineFiles, id: string): Promise<void> {
  await writeDurably(copiedOf(files), JSON.stringify({ id, disk: await identify(files.disk) }));
}

/** The checkpoint that was copied last from this very disk, and is there; undefined when it was never copied. */
export async function readCopied(files: MachineFiles): Promise<string | undefined> {
  const known = await readJson(copiedOf(files), copied);
  if (known === undefined || !existsSync(recordOf(files, known.id))) return undefined;
  return known.disk === (await identify(files.disk)) ? known.id : undefined;
}

/** A new disk is another file, also under the same number. */
async function identify(path: string): Promise<string> {
  const { ino, birthtimeNs } = await stat(path, { bigint: true });
  return `${ino} ${birthtimeNs}`;
}

/** A number that no checkpoint of the machine has ever had, also when the result is never used. */
export async function takeNumber(files: MachineFiles): Promise<string> {
  await mkdir(files.checkpoints, { recursive: true, mode: 0o700 });
  const highest = (await listNumbers(files)).at(-1) ?? -1;
  const next = Math.max(highest + 1, (await readJson(counterOf(files), counter))?.next ?? 0);
  await writeDurably(counterOf(files), JSON.stringify({ next: next + 1 }));
  await syncDirectory(files.dir);
  return `v${next}`;
}

async function listNumbers(files: MachineFiles): Promise<number[]> {
  const names = await readdir(files.checkpoints).catch(() => []);
  return names
    .flatMap((name) => NAME.exec(name)?.[1] ?? [])
    .map(Number)
    .sort((a, b) => a - b);
}
