// A file of the supervisor that is replaced in one step: a crash at any moment leaves the old text or the new one.
import { open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { makeDirectory } from '../linux/make-directory.ts';

/** Resolves when it is on the disk. Only the supervisor may read it. Without a text the file is removed. */
export async function replaceDurably(path: string, text: string | undefined): Promise<void> {
  makeDirectory(dirname(path), 0o700);
  if (text === undefined) await rm(path, { force: true });
  else {
    await writeDurably(`${path}~`, text);
    await rename(`${path}~`, path);
  }
  await using directory = await open(dirname(path), 'r');
  await directory.sync();
}

async function writeDurably(path: string, text: string): Promise<void> {
  await using handle = await open(path, 'w', 0o600);
  await handle.writeFile(text);
  await handle.sync();
}
