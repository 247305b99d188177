import { closeSync, fstatSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { createLog } from '../../../src/agent/agent-log.ts';
import { JournalDestination } from '../../../src/cli/journal-destination.ts';
import { isJournalStream, toJournalPrefix } from '../../../src/linux/systemd/journal.ts';
import { createPlatformLog } from '../../../src/platform/observability/platform-log.ts';
import { tempDir } from '../../support/temp-dir.ts';

function openFile() {
  const path = join(tempDir(), 'stream');
  const fd = openSync(path, 'w');
  onTestFinished(() => closeSync(fd));
  return { path, fd };
}

it('is recognized by the device and the inode of the stream, and by nothing less', () => {
  const { fd } = openFile();
  const { dev, ino } = fstatSync(fd);
  expect(isJournalStream(fd, { JOURNAL_STREAM: `${dev}:${ino}` })).toBe(true);
  for (const JOURNAL_STREAM of [`${dev}:${ino + 1}`, `${dev}`, '', undefined]) {
    expect(isJournalStream(fd, { JOURNAL_STREAM })).toBe(false);
  }
  expect(isJournalStream(9_999, { JOURNAL_STREAM: '1:2' })).toBe(false);
});

it.each([
  [10, '<7>'],
  [20, '<7>'],
  [30, '<6>'],
  [40, '<4>'],
  [50, '<3>'],
  [60, '<2>'],
])('level %i is %s', (level, prefix) => {
  expect(toJournalPrefix(level)).toBe(prefix);
});

it.each([
  ['agent', createLog],
  ['platform', createPlatformLog],
])('the log of the %s has the priority before each line, and no time in it', (_name, create) => {
  const { path, fd } = openFile();
  // What is tested is how it writes; the number is that of a file here.
  const log = create('info', new JournalDestination(fd as 2));
  log.info({ a: 1 }, 'one');
  log.debug({}, 'not shown');
  log.error({}, 'two\n<0>three');
  log.level = 'debug';
  log.debug({}, 'four');
  const lines = readFileSync(path, 'utf8').trimEnd().split('\n');
  expect(lines.map((line) => [line.slice(0, 3), JSON.parse(line.slice(3))])).toEqual([
    ['<6>', { level: 30, a: 1, msg: 'one' }],
    ['<3>', { level: 50, msg: 'two\n<0>three' }],
    ['<7>', { level: 20, msg: 'four' }],
  ]);
});
