// A directory for one test, short enough for Unix sockets, removed when the test ends.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';

export function tempDir(): string {
  const dir = mkdtempSync(join(tmpdir(), 'rem-'));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
}
