import { expect, it } from 'vitest';
import { parseDuration } from '../../src/contract/duration.ts';

it.each([
  ['30', 30_000],
  ['30s', 30_000],
  ['1.5s', 1_500],
  ['500ms', 500],
  ['10m', 600_000],
  ['2h', 7_200_000],
  [' 5s ', 5_000],
  ['0', 0],
])('reads %s', (text, expected) => {
  expect(parseDuration(text)).toBe(expected);
});

it.each(['', '-1', '1d', 'NaN', '1e9', '10 m', 'infinity', '99999999999'])('refuses %j', (text) => {
  expect(parseDuration(text)).toBeUndefined();
});
