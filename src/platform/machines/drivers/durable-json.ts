// Small records that are on the disk when the call is over: a crash leaves the old one or the new one.
import { open, readFile, rename } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { z } from 'zod';

export async function writeDurably(path: string, content: string | Uint8Array): Promise<void> {
  const early = `${path}~`;
  {
    await using handle = await open(early, 'w', 0o600);
    await handle.writeFile(content);
    await handle.sync();
  }
  await rename(early, path);
  await syncDirectory(dirname(path));
}

export async function syncDirectory(path: string): Promise<void> {
  await using handle = await open(path, 'r');
  await handle.sync();
}

/** Undefined when there is none that can be read. */
export async function readJson<S extends z.ZodType>(path: string, schema: S): Promise<z.output<S> | undefined> {
  try {
    return schema.parse(JSON.parse(await readFile(path, 'utf8')));
  } catch {
    return undefined;
  }
}
