// Lost transactions at full size: 100,000 events with 50 forced disconnects.
import { expect, test } from 'vitest';
import { expectLossInGaps } from '../support/lost-transactions.ts';

const size = { events: 100_000, disconnects: 50 };

test('every one of 100,000 transactions is a row or lies inside a recorded gap', async () => {
  const { lost, trimmed } = await expectLossInGaps({ ...size, historyCap: 2 * size.events });
  expect(lost).toBeGreaterThan(1_000);
  expect(trimmed).toBe(0);
});

test('with a history that is shorter than that, what was let go is a gap as well', async () => {
  const { lost, trimmed } = await expectLossInGaps({ ...size, historyCap: size.events / 10 });
  expect(lost).toBeGreaterThan(1_000);
  expect(trimmed).toBeGreaterThan(size.events / 2);
});
