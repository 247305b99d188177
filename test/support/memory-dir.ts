// A directory of one test in memory, where there is room: for tests of what writes to its disk again and again, which waits for what all
// other tests have written too. Everything else is the same; what the disk adds is tested with `tempDir`.
import { mkdtempSync, rmSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { atEnd } from './at-end.ts';
import { MEMORY_VARIABLE } from './memory-place.ts';

const ROOM_BYTES = 1024 ** 3;

export function memoryDir(): string {
  const dir = makeMemoryDir();
  atEnd(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
}

/** The caller removes it. */
export function makeMemoryDir(): string {
  const memory = process.env[MEMORY_VARIABLE];
  return mkdtempSync(join(memory !== undefined && hasRoom(memory) ? memory : tmpdir(), 'rem-'));
}

function hasRoom(dir: string): boolean {
  const { bavail, bsize } = statfsSync(dir);
  return bavail * bsize > ROOM_BYTES;
}
