// A cache that several owners share.
import { expect, test } from 'vitest';
import { SharedCache } from '../../src/core/shared-cache.ts';

const create = (max: number) => new SharedCache<number>({ max, sizeOf: (size) => size });

test('the owner that takes up most of it makes room, with its oldest entries', () => {
  const cache = create(64);
  for (let index = 0; index < 4; index += 1) cache.set('small', `s${index}`, 4);
  for (let index = 0; index < 100; index += 1) {
    cache.set('large', `l${index}`, 4);
    expect([0, 1, 2, 3].map((each) => cache.get(`s${each}`))).toEqual([4, 4, 4, 4]);
    expect(cache.get(`l${index}`)).toBe(4);
  }
  expect(cache.get('l0')).toBeUndefined();
  const left = Array.from({ length: 100 }, (_, index) => cache.get(`l${index}`)).filter((size) => size !== undefined);
  expect(left.length).toBeGreaterThanOrEqual(6);
  expect(left.length).toBeLessThanOrEqual(12);
});

test('an owner that comes late gets room', () => {
  const cache = create(64);
  for (let index = 0; index < 16; index += 1) cache.set('first', `f${index}`, 4);
  for (let index = 0; index < 8; index += 1) cache.set('second', `s${index}`, 4);
  expect(Array.from({ length: 8 }, (_, index) => cache.get(`s${index}`))).toEqual(Array(8).fill(4));
  expect(cache.get('f15')).toBe(4);
});

test('it never holds more than it may, whatever comes', () => {
  const cache = create(1_000);
  const entries = new Map<string, number>();
  for (let index = 0; index < 5_000; index += 1) {
    const key = `k${(index * 7_919) % 900}`;
    const size = 1 + ((index * 31) % 60);
    cache.set(`o${(index * 13) % (index < 2_500 ? 3 : 400)}`, key, size);
    entries.set(key, size);
    if (index % 100 > 0) continue;
    const held = [...entries.keys()].reduce((sum, each) => sum + (cache.get(each) ?? 0), 0);
    expect(held).toBeLessThanOrEqual(1_000);
  }
});

test('many small owners lose all at once', () => {
  const cache = create(128);
  for (let index = 0; index < 128; index += 1) cache.set(`o${index}`, `k${index}`, 1);
  cache.set('more', 'more', 1);
  expect([cache.get('k0'), cache.get('k127'), cache.get('more')]).toEqual([undefined, undefined, 1]);
});

test('an entry that is set again has its new value and size, and one that is too large is not kept', () => {
  const cache = create(64);
  cache.set('one', 'a', 8);
  cache.set('other', 'a', 2);
  expect(cache.get('a')).toBe(2);
  cache.set('other', 'a', 9);
  expect(cache.get('a')).toBeUndefined();
  for (let index = 0; index < 8; index += 1) cache.set('one', `b${index}`, 8);
  expect(Array.from({ length: 8 }, (_, index) => cache.get(`b${index}`))).toEqual(Array(8).fill(8));
  cache.clear();
  expect(cache.get('b0')).toBeUndefined();
});
