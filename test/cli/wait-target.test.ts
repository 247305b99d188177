import { expect, it } from 'vitest';
import { UsageError } from '../../src/cli/exit-code.ts';
import { parseWaitTarget } from '../../src/cli/wait-target.ts';

it.each([
  [['port:3000'], { type: 'port', port: 3_000 }],
  [['tx:app.db@000000000000001f'], { type: 'transaction', db: 'app.db', txid: '000000000000001f' }],
  [['tx:a@b.db@1f'], { type: 'transaction', db: 'a@b.db', txid: '1f' }],
  [['app.db', '1f'], { type: 'transaction', db: 'app.db', txid: '1f' }],
  [['port:3000', '1f'], { type: 'transaction', db: 'port:3000', txid: '1f' }],
])('%j is %j', (operands, expected) => {
  expect(parseWaitTarget(operands)).toEqual(expected);
});

it.each([
  ['port:'],
  ['port:0'],
  ['port:99999'],
  ['port:3000x'],
  ['tx:app.db'],
  ['tx:@1'],
  ['tx:app.db@'],
  ['app.db'],
  [''],
])('refuses %j', (operand) => {
  expect(() => parseWaitTarget([operand])).toThrow(UsageError);
});
