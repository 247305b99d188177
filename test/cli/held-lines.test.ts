// The lines of a busy log, which are written together.
import { spawnSync } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { HeldLines } from '../../src/cli/held-lines.ts';
import { JournalDestination } from '../../src/cli/journal-destination.ts';
import { createPlatformLog } from '../../src/platform/observability/platform-log.ts';
import { atEnd } from '../support/at-end.ts';
import { eventually } from '../support/eventually.ts';
import { tempDir } from '../support/temp-dir.ts';

function openFile() {
  const path = join(tempDir(), 'log');
  const fd = openSync(path, 'w');
  atEnd(() => closeSync(fd));
  const linesOf = () => readFileSync(path, 'utf8').split('\n').slice(0, -1);
  // What is tested is how it writes; the number is that of a file here.
  return { lines: new HeldLines(fd as 1), linesOf };
}

test('the first line is written at once, those that follow soon, in their order', async () => {
  const { lines, linesOf } = openFile();
  lines.write('0\n');
  expect(linesOf()).toEqual(['0']);
  const all = Array.from({ length: 1_000 }, (_, index) => String(index));
  for (const each of all.slice(1)) lines.write(`${each}\n`);
  expect(linesOf()).toEqual(['0']);
  await eventually(() => linesOf().length === 1_000);
  expect(linesOf()).toEqual(all);
});

test('no more than so many bytes are held, and a fatal line waits for nothing', () => {
  const { lines, linesOf } = openFile();
  lines.write('0\n');
  const long = 'x'.repeat(1_000);
  for (let index = 0; index < 100; index += 1) lines.write(`${long}\n`);
  expect(linesOf().length).toBeGreaterThan(60);
  const log = createPlatformLog('info', new JournalDestination(1, lines));
  log.info({}, 'before');
  log.fatal({}, 'the end');
  expect(linesOf().length).toBe(103);
  expect(linesOf().slice(-2)).toEqual(['<6>{"level":30,"msg":"before"}', '<2>{"level":60,"msg":"the end"}']);
});

test.each([
  ['ends', ''],
  ['fails', 'throw new Error();'],
  ['is ended', 'process.exit(3);'],
])('what is held is written when the process %s', (_how, end) => {
  const module = new URL('../../src/cli/held-lines.ts', import.meta.url).href;
  const script = `import { HeldLines } from '${module}'; const lines = new HeldLines(1);
    for (const each of [1, 2, 3]) lines.write(each + '\\n'); ${end}`;
  const { stdout } = spawnSync(process.execPath, ['--input-type=module', '-e', script], { encoding: 'utf8' });
  expect(stdout).toBe('1\n2\n3\n');
});
