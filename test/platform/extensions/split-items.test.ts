import { expect, test } from 'vitest';
import { splitItems } from '../../../src/platform/extensions/costs/split-items.ts';
import { createDice, type Dice } from '../../support/dice.ts';

const read = (text: string) => splitItems(text, 1_000)?.items.map((item) => JSON.parse(item));

function toValue(dice: Dice, depth = 0): unknown {
  const texts: readonly [string, ...string[]] = [
    '',
    'items',
    '"items":[',
    '\\',
    'a,b',
    '[{',
    '}]',
    '\\"',
    ' ',
    'é\u2028',
  ];
  if (dice.chance(50) || depth > 3) return dice.pick([0, -1.5, true, null, ...texts]);
  const values = Array.from({ length: dice.below(4) }, () => toValue(dice, depth + 1));
  return dice.chance(50)
    ? values
    : Object.fromEntries(values.map((value, index) => [`${dice.pick(texts)}${index}`, value]));
}

test('finds what JSON has, whatever stands in and around the items', () => {
  for (let round = 0; round < 2_000; round += 1) {
    const dice = createDice(round.toString(16));
    const items = Array.from({ length: dice.below(5) }, () => toValue(dice));
    const bill = { a: toValue(dice), items, b: toValue(dice) };
    const text = JSON.stringify(bill, null, dice.pick([undefined, 1, '\t']));
    expect(read(text), text).toEqual(items);
    expect(JSON.parse(splitItems(text, 1_000)?.rest ?? ''), text).toEqual({ ...bill, items: [] });
  }
});

test.each([
  ['', undefined],
  ['{}', undefined],
  ['[]', undefined],
  ['"items"', undefined],
  ['{"items":{"items":[1]}}', undefined],
  ['{"a":"items","b":[1]}', undefined],
  ['[{"items":[1]}]', undefined],
  ['{"items":[1,2', undefined],
  ['{"items":["]', undefined],
  ['{"items":[1}', ['1']],
  ['{"items":[]}', []],
  ['{"items":[ ]}', []],
  ['{"items":[,1]}', ['', '1']],
  ['{"items":[1,]}', ['1', '']],
  ['{"items":[1 2,[3}]}', ['1 2', '[3}']],
])('%s', (text, items) => {
  expect(splitItems(text, 10)?.items).toEqual(items);
});

test('stops after the most', () => {
  expect(splitItems(`{"items":[${'1,'.repeat(1_000_000)}1]}`, 10)?.items).toHaveLength(11);
});
