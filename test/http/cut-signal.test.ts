import { expect, test } from 'vitest';
import { Cut } from '../../src/http/cut-signal.ts';

test('a cut tells its listeners once, in their order, with the first reason', () => {
  const cut = new Cut();
  const told: string[] = [];
  for (const name of ['one', 'other']) cut.addEventListener('abort', () => told.push(`${name}: ${cut.reason}`));
  expect([cut.aborted, cut.reason]).toEqual([false, undefined]);
  cut.cut('revoked');
  cut.cut('again');
  expect(told).toEqual(['one: revoked', 'other: revoked']);
  expect([cut.aborted, cut.reason]).toEqual([true, 'revoked']);
});

test('a listener that was taken off is not told, and one that was added twice is told once', () => {
  const cut = new Cut();
  const told: string[] = [];
  const kept = () => void told.push('kept');
  const gone = () => void told.push('gone');
  for (const listener of [gone, kept, kept]) cut.addEventListener('abort', listener);
  cut.removeEventListener('abort', gone);
  cut.cut(undefined);
  expect(told).toEqual(['kept']);
});
