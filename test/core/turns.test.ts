// Long work is divided into turns by what it costs, and nothing of it is lost or out of order.
import { expect, it } from 'vitest';
import { mapInTurns } from '../../src/core/map-in-turns.ts';
import { nextSlice } from '../../src/core/next-slice.ts';
import { createTurns } from '../../src/core/turns.ts';

it('goes on until enough was done, and then waits for the next turn', async () => {
  let turns = 0;
  const work = createTurns(() => {
    turns += 1;
  });
  for (let round = 1; round <= 3; round += 1) {
    expect(work.spend(16 * 1024)).toBeUndefined();
    const next = work.spend(16 * 1024);
    expect(next).toBeDefined();
    expect(turns).toBe(round - 1);
    await next;
    expect(turns).toBe(round);
  }
});

it('maps in order, and lets others run between items that cost much', async () => {
  const order: string[] = [];
  const items = [1, 2, 3];
  const mapped = mapInTurns(
    items,
    () => 32 * 1024,
    (item) => {
      order.push(`item ${item}`);
      setImmediate(() => order.push(`after ${item}`));
      return item * 10;
    },
  );
  expect(await mapped).toEqual([10, 20, 30]);
  expect(order.slice(0, 5)).toEqual(['item 1', 'after 1', 'item 2', 'after 2', 'item 3']);
});

it('gives each turn to one of several works, in the order of their calls', async () => {
  const order: string[] = [];
  let turns = 0;
  let next = setImmediate(count);
  function count() {
    turns += 1;
    next = setImmediate(count);
  }
  const work = async (name: string) => {
    for (let slice = 0; slice < 3; slice += 1) {
      await nextSlice();
      order.push(`${name} in ${turns}`);
    }
  };
  await Promise.all([work('a'), work('b'), work('c')]);
  clearImmediate(next);
  expect(order.map((entry) => entry[0]).join('')).toBe('abcabcabc');
  expect(new Set(order.map((entry) => entry.slice(5))).size).toBe(9);
});

it('takes no turn for a short list', async () => {
  let isOver = false;
  const other = new Promise((resolve) => setImmediate(() => resolve(isOver)));
  await mapInTurns(
    [1, 2],
    () => 1,
    (item) => item,
  );
  isOver = true;
  expect(await other).toBe(true);
});
