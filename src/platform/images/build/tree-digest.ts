// One number for a tree of files: of the sorted list of its paths, with kind, mode, owner and content of each. Times do not count.
import { createHash } from 'node:crypto';
import { lstat, readdir, readlink } from 'node:fs/promises';
import { join } from 'node:path';
import { sumFile } from '../sum-file.ts';

export async function digestTree(root: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const line of listTree(root, '')) hash.update(`${line}\n`);
  return hash.digest('hex');
}

async function* listTree(root: string, path: string): AsyncGenerator<string> {
  const full = join(root, path);
  const stat = await lstat(full);
  const head = `${JSON.stringify(path)} ${stat.mode.toString(8)} ${stat.uid}:${stat.gid}`;
  if (stat.isSymbolicLink()) yield `${head} -> ${await readlink(full)}`;
  else if (stat.isFile()) yield `${head} ${stat.size} ${await sumFile(full)}`;
  else yield stat.isDirectory() ? head : `${head} ${stat.rdev}`;
  if (!stat.isDirectory()) return;
  for (const name of (await readdir(full)).sort()) yield* listTree(root, join(path, name));
}
