// The words of a provider that refuses, in the forms that frameworks give them.
import { expect, it } from 'vitest';
import { toProviderWords } from '../../../src/platform/extensions/provider-words.ts';

it.each<[unknown, string]>([
  [{ message: 'sold out' }, 'sold out'],
  [{ error: 'limit_reached', message: 'sold out' }, 'sold out'],
  [{ error: { code: 7, message: 'sold out' } }, 'sold out'],
  [{ error: { code: 7 }, title: 'Sold out' }, 'Sold out'],
  [{ type: 'about:blank', title: 'Conflict', detail: 'sold out' }, 'sold out'],
  [{ errors: ['sold out', 'closed'] }, 'sold out; closed'],
  [{ errors: [{ status: '422', title: 'Invalid', detail: 'sold out' }] }, 'sold out'],
  [{ errors: { name: ['is taken', 'is short'], plan: 'is none' } }, 'name is taken; is short; plan is none'],
  [{ success: false, errors: [], messages: [] }, ''],
  [['sold out'], 'sold out'],
])('%j', (body, words) => {
  expect(toProviderWords(JSON.stringify(body))).toBe(words);
});

it.each([
  ['sold out\r\n', 'sold out'],
  ['<html><body>Bad gateway</body></html>', ''],
  ['{"message":"cut of', ''],
  ['', ''],
])('%j, which is no JSON', (body, words) => {
  expect(toProviderWords(body)).toBe(words);
});

it('many words are cut', () => {
  expect(toProviderWords(JSON.stringify({ errors: Array(9_000).fill('x'.repeat(200)) })).length).toBe(300);
});
