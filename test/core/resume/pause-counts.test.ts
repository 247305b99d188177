import { expect, test } from 'vitest';
import { formatPauseCounts, parsePauseCounts } from '../../../src/core/resume/pause-counts.ts';

test('what the host writes is read back', () => {
  const counts = { copies: 3, resumes: 12 };
  expect(formatPauseCounts(counts)).toBe('copies 3\nresumes 12\n');
  expect(parsePauseCounts(formatPauseCounts(counts))).toEqual(counts);
});

test.each([
  '',
  'copies 3\n',
  'copies 3\nresumes 1',
  'copies -3\nresumes 1\n',
  'copies 3\nresumes 1\nmore\n',
  `copies ${'9'.repeat(16)}\nresumes 1\n`,
])('any other text is none: %j', (text) => {
  expect(parsePauseCounts(text)).toBeUndefined();
});
