// Many disconnects of the node, in a small number; test/soak/ has them at full size.
import { expect, test } from 'vitest';
import { expectLossInGaps } from '../../../support/lost-transactions.ts';

test('every transaction that was lost lies inside a recorded gap', async () => {
  const { lost, trimmed } = await expectLossInGaps({ events: 5_000, disconnects: 20, historyCap: 10_000 });
  expect(lost).toBeGreaterThan(100);
  expect(trimmed).toBe(0);
});
