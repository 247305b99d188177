// The delay before the next try: its limits, its growth, and what a server may add to it.
import { describe, expect, test } from 'vitest';
import { createBackoff, RETRY_AFTER_MAX_MS } from '../../src/core/backoff.ts';

const LAST = 1 - 2 ** -48;

describe('the delay', () => {
  test.each([
    ['at the lowest draw', 0, [250, 250, 250, 250, 250, 250, 250, 250, 250, 250]],
    ['in the middle', 0.5, [375, 625, 1_125, 2_125, 4_125, 8_125, 15_125, 15_125, 15_125, 15_125]],
    ['at the highest draw', LAST, [499, 999, 1_999, 3_999, 7_999, 15_999, 29_999, 29_999, 29_999, 29_999]],
  ])('%s', (_name, draw, expected) => {
    const backoff = createBackoff({ random: () => draw });
    expect(expected.map(() => backoff.next())).toEqual(expected);
    expect(backoff.failures).toBe(expected.length);
  });

  test('starts over after a reset', () => {
    const backoff = createBackoff({ random: () => LAST });
    for (let n = 0; n < 2_000; n += 1) expect(backoff.next()).toBeLessThanOrEqual(30_000);
    backoff.reset();
    expect([backoff.failures, backoff.next()]).toEqual([0, 499]);
  });

  test.each([
    [undefined, 375],
    [0, 375],
    [-1, 375],
    [Number.NaN, 375],
    [100, 375],
    [1_000.5, 1_001],
    [120_000, 120_000],
    [1e12, RETRY_AFTER_MAX_MS],
    [Number.POSITIVE_INFINITY, RETRY_AFTER_MAX_MS],
  ])('with Retry-After of %s ms is %i', (retryAfter_ms, expected) => {
    expect(createBackoff({ random: () => 0.5 }).next(retryAfter_ms)).toBe(expected);
  });

  test('keeps to other bounds', () => {
    const backoff = createBackoff({ random: () => LAST, min_ms: 10, max_ms: 25 });
    expect([backoff.next(), backoff.next()]).toEqual([19, 24]);
    expect(createBackoff({ random: () => LAST, min_ms: 50, max_ms: 20 }).next()).toBe(50);
  });
});
