import { expect, test } from 'vitest';
import { inSlices } from '../../src/linux/processes/in-slices.ts';
import { countSteps } from '../support/count-turns.ts';

test('everything else has turns while many items are dealt with, each of them once and in order', async () => {
  const items = Array.from({ length: 20 }, (_, index) => index);
  const done: number[] = [];
  const { step, perTurn } = countSteps();
  const act = (item: number) => {
    step();
    done.push(item);
    const end = performance.now() + 1;
    while (performance.now() < end);
  };
  await inSlices(items, act, 4);
  expect(done).toEqual(items);
  expect(Math.max(...perTurn())).toBeLessThanOrEqual(4);
});

test('few items take one turn', async () => {
  const { step, perTurn } = countSteps();
  await inSlices([1, 2, 3], step, 1_000);
  expect(perTurn()).toEqual([3]);
});

test('an error ends it', async () => {
  const act = () => {
    throw new Error('broken');
  };
  await expect(inSlices([1], act)).rejects.toThrow('broken');
});
