// A text that is like the one before is not parsed again.
import { expect, it } from 'vitest';
import { rememberLast } from '../../src/core/remember-last.ts';

it('parses a text when it is another one than before, and only then', () => {
  const parsed: string[] = [];
  const read = rememberLast((text) => {
    parsed.push(text);
    return text === '' ? undefined : Number(text);
  });
  expect(['1', '1', '2', '', '', '1'].map(read)).toEqual([1, 1, 2, undefined, undefined, 1]);
  expect(parsed).toEqual(['1', '2', '', '1']);
});

it('parses again what could not be parsed, and keeps what was parsed before', () => {
  let parsed = 0;
  const read = rememberLast((text) => {
    parsed += 1;
    if (text === 'bad') throw new Error('it is bad');
    return text;
  });
  read('good');
  expect(() => read('bad')).toThrow('it is bad');
  expect(() => read('bad')).toThrow('it is bad');
  expect(read('good')).toBe('good');
  expect(parsed).toBe(3);
});
