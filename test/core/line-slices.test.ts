// The slices of a chunk: in order, nothing lost, few lines and few bytes in each.
import { expect, it } from 'vitest';
import { toLineSlices } from '../../src/core/line-slices.ts';

const slicesOf = (text: string) =>
  Array.from(toLineSlices(Buffer.from(text)), (slice) => Buffer.from(slice).toString());
const linesOf = (slice: string) => slice.split('\n').length - 1;

it.each([
  { name: '10,000 short lines', text: '{}\n'.repeat(10_000), slices: 40 },
  { name: 'blank lines', text: '\n'.repeat(1_000), slices: 4 },
  { name: 'lines of 200 bytes', text: `${'x'.repeat(199)}\n`.repeat(1_000), slices: 7 },
  { name: 'a long line after short ones', text: `${'1\n'.repeat(300)}${'x'.repeat(100_000)}\n`, slices: 5 },
  { name: 'a line without its end', text: 'x'.repeat(10), slices: 1 },
  { name: 'nothing', text: '', slices: 0 },
])('$name', ({ text, slices }) => {
  const made = slicesOf(text);
  expect(made.join('')).toBe(text);
  expect(made).toHaveLength(slices);
  expect(Math.max(0, ...made.map(linesOf))).toBeLessThanOrEqual(256);
  expect(Math.max(0, ...made.map((slice) => slice.length))).toBeLessThanOrEqual(32 * 1024);
});

it('ends a slice that is full of lines after a line', () => {
  expect(slicesOf('ab\n'.repeat(600)).every((slice) => slice.endsWith('ab\n'))).toBe(true);
});
