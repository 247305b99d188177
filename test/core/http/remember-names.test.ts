import { expect, test } from 'vitest';
import { rememberNames } from '../../../src/core/http/remember-names.ts';

/** Which names were judged, in their order. */
function watch() {
  const judged: string[] = [];
  const lengthOf = rememberNames((name) => {
    judged.push(name);
    return name.length;
  });
  return { judged, lengthOf };
}

test('a name is judged once, and each spelling for itself', () => {
  const { judged, lengthOf } = watch();
  expect(['Accept', 'accept', 'Accept', '__proto__', ''].map(lengthOf)).toEqual([6, 6, 6, 9, 0]);
  lengthOf('__proto__');
  lengthOf('');
  expect(judged).toEqual(['Accept', 'accept', '__proto__', '']);
});

test('a long name is not remembered', () => {
  const { judged, lengthOf } = watch();
  const name = 'x'.repeat(65);
  expect([lengthOf(name), lengthOf(name)]).toEqual([65, 65]);
  expect(judged).toHaveLength(2);
});

test('names without end are forgotten, and their answers stay right', () => {
  const { judged, lengthOf } = watch();
  lengthOf('first');
  for (let index = 0; index < 10_000; index += 1) expect(lengthOf(`x-${index}`)).toBe(`x-${index}`.length);
  expect(lengthOf('first')).toBe(5);
  expect(judged.filter((name) => name === 'first')).toHaveLength(2);
});
