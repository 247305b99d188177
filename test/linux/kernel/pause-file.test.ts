import { execFileSync } from 'node:child_process';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createKernel } from '../../../src/linux/kernel/kernel.ts';
import { readPauseFile } from '../../../src/linux/kernel/pause-file.ts';
import { countPause, PAUSES } from '../../../src/platform/machines/drivers/process/count-pause.ts';
import { silentLog } from '../../support/silent-log.ts';
import { tempDir } from '../../support/temp-dir.ts';

function openMachine() {
  const dir = tempDir();
  mkdirSync(join(dir, 'm1'));
  return {
    count: (kind: 'copies' | 'resumes') => countPause(dir, 'm1', kind, silentLog),
    path: join(dir, 'm1', PAUSES),
  };
}

test('the kernel port reads what a driver counts, each time', () => {
  const { count, path } = openMachine();
  using kernel = createKernel({ pausesFile: path });
  expect(kernel.pauses()).toBeUndefined();
  count('copies');
  expect(kernel.pauses()).toEqual({ copies: 1, resumes: 0 });
  count('resumes');
  count('copies');
  expect(kernel.pauses()).toEqual({ copies: 2, resumes: 1 });
  using without = createKernel();
  expect(without.pauses()).toBeUndefined();
});

test('a file that a program has damaged is counted from none again', () => {
  const { count, path } = openMachine();
  writeFileSync(path, 'x'.repeat(1_000_000));
  expect(readPauseFile(path)).toBeUndefined();
  count('copies');
  expect(readPauseFile(path)).toEqual({ copies: 1, resumes: 0 });
});

test('what cannot be counted is said, and stops nothing', () => {
  const said: string[] = [];
  countPause(join(tempDir(), 'none'), 'm1', 'resumes', {
    error: (_fields: object, message: string) => said.push(message),
  });
  expect(said).toEqual(['a pause of a machine is not counted']);
});

test('links are not followed, and a pipe is not waited for', () => {
  const { path } = openMachine();
  const other = `${path}-other`;
  writeFileSync(other, 'copies 1\nresumes 1\n');
  symlinkSync(other, path);
  expect(readPauseFile(path)).toBeUndefined();
  const pipe = `${path}-pipe`;
  execFileSync('mkfifo', [pipe]);
  expect(readPauseFile(pipe)).toBeUndefined();
});
