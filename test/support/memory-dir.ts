// A directory of one test in memory, where there is room: for tests that have a file system written to its disk again and again, which
// waits for what all other tests have written too. Everything else is the same; what the disk adds is tested with `tempDir`.
import { mkdtempSync, rmSync, statfsSync } from 'node:fs';
import { join } from 'node:path';
import { atEnd } from './at-end.ts';
import { tempDir } from './temp-dir.ts';

const MEMORY = '/dev/shm';
const ROOM_BYTES = 1024 ** 3;

export function memoryDir(): string {
  if (!hasRoom()) return tempDir();
  const dir = mkdtempSync(join(MEMORY, 'rem-'));
  atEnd(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
}

function hasRoom(): boolean {
  try {
    const { bavail, bsize } = statfsSync(MEMORY);
    return bavail * bsize > ROOM_BYTES;
  } catch {
    return false;
  }
}
