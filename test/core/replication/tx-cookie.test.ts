import { expect, test } from 'vitest';
import { parseTxCookies, toTxCookies } from '../../../src/core/replication/tx-cookie.ts';

test.each([
  ['', undefined],
  ['a=b; c', undefined],
  ['__txid=0000000000000027', '0000000000000027'],
  ['a=b; __txid=00000000000000AB; c=d', '00000000000000ab'],
  ['__txid="0000000000000027"', '0000000000000027'],
  ['txnum=39', '0000000000000027'],
  ['txnum=39; __txid=0000000000000026', '0000000000000027'],
  ['txnum=38; __txid=0000000000000027', '0000000000000027'],
  ['__txid=27', undefined],
  ['__txid=000000000000002g', undefined],
  ['txnum=-1', undefined],
  ['txnum=1e3', undefined],
  ['txnum=0x10', undefined],
  ['txnum=18446744073709551615', 'ffffffffffffffff'],
  ['txnum=18446744073709551616', undefined],
  ['txnum=18446744073709551616; __txid=0000000000000001', '0000000000000001'],
  ['__TXID=0000000000000027', undefined],
  ['x__txid=0000000000000027', undefined],
])('%j names %s', (header, txID) => {
  expect(parseTxCookies(header)).toBe(txID);
});

test('what is set is what is read, also beyond what a JS number holds', () => {
  for (const txID of ['0000000000000000', '0000000000000027', '0020000000000001', 'ffffffffffffffff']) {
    const { set_cookie, txnum } = toTxCookies(txID);
    expect(BigInt(txnum)).toBe(BigInt(`0x${txID}`));
    for (const line of set_cookie) {
      expect(line).toMatch(/; Path=\/; Max-Age=300; HttpOnly; SameSite=Lax/);
      expect(parseTxCookies(line.split(';')[0] ?? '')).toBe(txID);
    }
  }
});
