import { existsSync, readFileSync, watch } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { createGenerationFile } from '../../../src/agent/resume/generation-file.ts';
import { tempDir } from '../../support/temp-dir.ts';

it('holds the generation, wakes a watcher of its directory, and goes with the agent', async () => {
  const dir = tempDir();
  const path = join(dir, 'generation');
  const file = createGenerationFile(path);
  file.write(1);
  expect(readFileSync(path, 'utf8')).toBe('1\n');
  const names: (string | null)[] = [];
  const watcher = watch(dir, (_event, name) => names.push(name));
  onTestFinished(() => watcher.close());
  file.write(2);
  await expect.poll(() => names).toContain('generation');
  expect(readFileSync(path, 'utf8')).toBe('2\n');
  file[Symbol.dispose]();
  expect(existsSync(path)).toBe(false);
});

it('is never seen empty or in part', () => {
  const path = join(tempDir(), 'generation');
  const file = createGenerationFile(path);
  for (let generation = 1; generation <= 200; generation += 1) {
    file.write(generation * 1_000_000);
    expect(readFileSync(path, 'utf8')).toBe(`${generation * 1_000_000}\n`);
  }
});

it('says when it cannot be written', () => {
  expect(() => createGenerationFile(join(tempDir(), 'none', 'generation')).write(1)).toThrow(/ENOENT/);
});
