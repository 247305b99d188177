import { expect, it } from 'vitest';
import { mayChangeUser } from '../../src/linux/processes/capabilities.ts';

it.each([
  ['all', '000001ffffffffff', true],
  ['those of the unit of the agent', '0000000000080004', false],
  ['one of the two', '0000000000000080', false],
  ['the two', '00000000000000c0', true],
])('with %s', (_what, held, expected) => {
  expect(mayChangeUser(`Name:\tnode\nCapEff:\t${held}\nCapBnd:\t000001ffffffffff\n`)).toBe(expected);
});

it('takes a kernel that does not say for one that lets it', () => {
  expect(mayChangeUser('Name:\tnode\n')).toBe(true);
});
