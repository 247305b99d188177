import { expect, test } from 'vitest';
import { type Listed, OpenList } from '../../src/core/open-list.ts';
import { createDice } from '../support/dice.ts';

test('holds what was added and not deleted, whatever the order', () => {
  const dice = createDice('a5');
  const list = new OpenList<Listed>();
  const expected = new Set<Listed>();
  const items = Array.from({ length: 20 }, (): Listed => ({ place: -1 }));
  for (let step = 0; step < 500; step += 1) {
    const item = items[dice.below(items.length)];
    if (item === undefined) throw new Error('there are twenty');
    if (dice.chance(50)) {
      list.add(item);
      expected.add(item);
    } else {
      expect(list.delete(item)).toBe(expected.delete(item));
    }
    expect(new Set(list.all())).toEqual(expected);
    expect([list.size, list.all().length]).toEqual([expected.size, expected.size]);
    expect(items.every((one) => list.has(one) === expected.has(one))).toBe(true);
  }
});
