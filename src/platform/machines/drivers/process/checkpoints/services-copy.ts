// The definitions of a machine's services go into a checkpoint and come back with its files.
import { constants } from 'node:fs';
import { open, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { errorCode } from '../../../../../core/error-code.ts';
import { RemoraError } from '../../../../../core/remora-error.ts';
import { makeDirectory } from '../../../../../linux/make-directory.ts';
import { syncDirectory, writeDurably } from '../../durable-json.ts';

const CAP_BYTES = 16 * 1024 * 1024;
/** Programs of the machine may have put something else in its place. */
const READ = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/**
 * Writes nothing when no services are defined. Waits for no disk, because the machine may stand still meanwhile: the caller writes the whole
 * copy out before it has a name.
 */
export async function keepServices(source: string, target: string): Promise<void> {
  const bytes = await readDefinitions(source);
  if (bytes !== undefined) await writeFile(target, bytes, { mode: 0o600, flag: 'wx' });
}

/** Removes the definitions when the checkpoint has none. It may be done again. */
export async function putServicesBack(source: string, target: string): Promise<void> {
  const bytes = await readFile(source).catch((error: unknown) => {
    if (errorCode(error) === 'ENOENT') return undefined;
    throw error;
  });
  makeDirectory(dirname(target), 0o700);
  if (bytes !== undefined) return await writeDurably(target, bytes);
  await rm(target, { force: true });
  await syncDirectory(dirname(target));
}

async function readDefinitions(path: string): Promise<Buffer | undefined> {
  try {
    await using handle = await open(path, READ);
    const stat = await handle.stat();
    if (stat.isFile() && stat.size <= CAP_BYTES) return await handle.readFile();
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined;
    if (errorCode(error) !== 'ELOOP') throw error;
  }
  throw new RemoraError('conflict', `the definitions of the services are no file of at most ${CAP_BYTES} bytes`);
}
