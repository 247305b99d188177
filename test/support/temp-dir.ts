// A directory for one test, short enough for Unix sockets, removed when the test ends.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { atEnd } from './at-end.ts';

export function tempDir(): string {
  const dir = mkdtempSync(join(tmpdir(), 'rem-'));
  atEnd(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
}
