// The time of each machine in the spread: its own, the same when asked again, and all of them as even as chance.
import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { clampSpread, RECONNECT_SPREAD_MAX_MS, toReconnectDelay } from '../../../src/core/resume/reconnect-spread.ts';

const SPREAD_MS = 10_000;

/** Ids as the platform makes them, the same at each run. */
function toFleet(size: number): string[] {
  return Array.from({ length: size }, (_, index) =>
    createHash('sha256').update(`machine ${index}`).digest('hex').slice(0, 14),
  );
}

/** The fullest 100 ms when all of them are resumed at once. */
function toBusiest(fleet: readonly string[], generation: number): number {
  const arrivals = new Map<number, number>();
  for (const id of fleet) {
    const slot = Math.floor(toReconnectDelay(id, generation, SPREAD_MS) / 100);
    arrivals.set(slot, (arrivals.get(slot) ?? 0) + 1);
  }
  return Math.max(...arrivals.values());
}

test('200 machines resumed for the first time arrive at most three times the mean in any 100 ms', () => {
  expect(toBusiest(toFleet(200), 1)).toBeLessThanOrEqual(3 * 2);
});

// Two of 200 machines arrive in 100 ms on average, and of even draws about 63 in 100 have no 100 ms with more than 6: as often
// as that it has to hold for any generation. With ten times the machines it always does.
test('the same machines are spread as evenly as chance in other generations, and many of them evenly in all', () => {
  const generations = Array.from({ length: 200 }, (_, generation) => generation);
  const few = toFleet(200);
  const held = generations.filter((generation) => toBusiest(few, generation) <= 3 * 2).length;
  expect(held / generations.length).toBeGreaterThan(0.5);
  expect(held / generations.length).toBeLessThan(0.76);
  const many = toFleet(2_000);
  expect(generations.filter((generation) => toBusiest(many, generation) > 3 * 20)).toEqual([]);
});

test('every delay lies within the spread, and the whole spread is used', () => {
  const delays = toFleet(2_000).map((id) => toReconnectDelay(id, 3, SPREAD_MS));
  expect(delays.every((delay) => Number.isInteger(delay) && delay >= 0 && delay < SPREAD_MS)).toBe(true);
  expect(Math.min(...delays)).toBeLessThan(100);
  expect(Math.max(...delays)).toBeGreaterThan(SPREAD_MS - 100);
  const mean = delays.reduce((sum, delay) => sum + delay, 0) / delays.length;
  expect(Math.abs(mean - SPREAD_MS / 2)).toBeLessThan(SPREAD_MS / 20);
});

test('a machine has the same time when it is asked again, and another one after the next resume', () => {
  const [id = ''] = toFleet(1);
  expect(toReconnectDelay(id, 5, SPREAD_MS)).toBe(toReconnectDelay(id, 5, SPREAD_MS));
  const times = Array.from({ length: 20 }, (_, generation) => toReconnectDelay(id, generation, SPREAD_MS));
  expect(new Set(times).size).toBe(20);
});

test('one id is not the prefix of another with a generation', () => {
  expect(toReconnectDelay('m', 11, SPREAD_MS)).not.toBe(toReconnectDelay('m1', 1, SPREAD_MS));
});

test('without a spread nobody waits', () => {
  for (const spread of [0, -1, Number.NaN, 0.5]) expect(toReconnectDelay('m', 1, spread)).toBe(0);
});

test.each([
  [0, 0],
  [-5, 0],
  [Number.NaN, 0],
  [Number.POSITIVE_INFINITY, 0],
  [99.9, 99],
  [300_000, RECONNECT_SPREAD_MAX_MS],
  [9e15, RECONNECT_SPREAD_MAX_MS],
])('a spread of %d is taken as %d', (spread, taken) => {
  expect(clampSpread(spread)).toBe(taken);
});
