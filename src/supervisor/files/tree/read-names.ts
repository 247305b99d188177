// The names in a directory that is held, as bytes.
import { opendir } from 'node:fs/promises';
import { named } from '../file-error.ts';
import type { Pin } from './pin.ts';

const NAMES_AT_ONCE = 256;

export async function* readNames(directory: Pin): AsyncGenerator<Buffer> {
  // The types of Node say that names are text; with this encoding they are bytes.
  const options = { encoding: 'buffer' as BufferEncoding, bufferSize: NAMES_AT_ONCE };
  const entries = await named(directory.path, opendir(directory.at, options));
  for await (const { name } of entries) yield name as unknown as Buffer;
}
