import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  watch,
  writeFileSync,
} from 'node:fs';
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

it('may be read by everybody, whatever the mask of the process', () => {
  const path = join(tempDir(), 'generation');
  const mask = process.umask(0o077);
  try {
    createGenerationFile(path).write(1);
  } finally {
    process.umask(mask);
  }
  expect((statSync(path).mode & 0o777).toString(8)).toBe('644');
});

it('follows no link that lies in its place, and writes itself all the same', () => {
  const dir = tempDir();
  const path = join(dir, 'generation');
  const victim = join(dir, 'victim');
  writeFileSync(victim, 'precious');
  symlinkSync(victim, `${path}~`);
  symlinkSync(victim, path);
  createGenerationFile(path).write(3);
  expect(readFileSync(victim, 'utf8')).toBe('precious');
  expect(readFileSync(path, 'utf8')).toBe('3\n');
  expect(readdirSync(dir).sort()).toEqual(['generation', 'victim']);
});

it.each(['777', '775'])('is not written to a directory of mode %s, which is said', (mode) => {
  const dir = join(tempDir(), 'open');
  mkdirSync(dir);
  chmodSync(dir, Number.parseInt(mode, 8));
  const path = join(dir, 'generation');
  const file = createGenerationFile(path);
  expect(() => file.write(1)).toThrow(/is not written: others may write to /);
  expect(existsSync(path)).toBe(false);
  expect(file.describe().problem).toMatch(/chmod go-w/);
});

it('says when it cannot be written', () => {
  expect(() => createGenerationFile(join(tempDir(), 'none', 'generation')).write(1)).toThrow(/is not written: ENOENT/);
});
