// What a path or a rule costs grows with its length and with nothing else.
import { describe, expect, it } from 'vitest';
import { compilePolicy, decide } from '../../../src/core/gateway/access-policy.ts';
import { parseGatewayTarget } from '../../../src/core/gateway/gateway-target.ts';
import { MAX_READINGS, toPathReadings } from '../../../src/core/gateway/path-readings.ts';
import { growthOf } from '../../support/growth.ts';
import { fill, pairsOf, pathUnits } from '../../support/hostile-text.ts';

const sprite = { name: 'dev-1', labels: [] };
const SMALL = 4_000;
const LARGE = 8_000;
/** Twice as long may take twice as long, and some more for noise. */
const LINEAR = 2.5;

const alike = (count: number) => Array.from({ length: count }, (_, at) => `/${'a'.repeat(2_000)}${at}*`);
const nested = (count: number) => Array.from({ length: count }, (_, at) => `/${'a'.repeat(1_700 + at)}*`);

const open = compilePolicy({ allow_all: true });
const strict = compilePolicy({
  allow_all: true,
  blocked_endpoints: alike(256),
  allowed_endpoints: [...nested(255), '*'],
});

function judge(path: string): unknown {
  const target = parseGatewayTarget('GET', `/v1/gateway/openai/c${path}`, []);
  const judged = target.type === 'target' ? decide(open, sprite, target.path) : target;
  return [judged, decide(strict, sprite, path)];
}

/** One for each thing that a path can be made of; the rest is measured alone. */
const paired = [
  '/',
  ';',
  '../',
  'a',
  '*',
  '%2f',
  '%5c',
  '%20',
  '%20/',
  '%3f',
  '%252f',
  '%C2%AD',
  '%EF%BC%8F',
  '%CC%80',
];

describe('a path of 8 KB', () => {
  it('costs at most 2.5 times what one of 4 KB does, whatever pair of special bytes it repeats', () => {
    const slow = [...pathUnits, ...pairsOf(paired)].filter((unit) => {
      const ratio = growthOf(judge, fill(unit, SMALL, '/'), fill(unit, LARGE, '/'), LINEAR);
      return ratio > LINEAR;
    });
    expect(slow).toEqual([]);
  });

  it.each([
    ['slashes after every reading', '/a;b%3b%5c%2523%253f%252f', '/', 'x%20y%253b/'],
    ['spaces before a letter', '/a', '%20', 'x'],
    ['spaces and slashes', '/%20', '/%20', 'x'],
    ['dots before a letter', '/', '.', 'x'],
    ['wide letters', '/%CE%A3;%5c%2523', 'aA;', '%20/.'],
    ['a block rule begun again and again', '/', '/aaaa', ''],
  ])('costs at most 2.5 times what one of 4 KB does: %s', (_name, head, unit, tail) => {
    const ratio = growthOf(judge, fill(unit, SMALL, head, tail), fill(unit, LARGE, head, tail), LINEAR);
    expect(ratio).toBeLessThanOrEqual(LINEAR);
  });

  it('has a bounded number of readings, or is refused', () => {
    const counts = [...pairsOf(pathUnits)].map((unit) => toPathReadings(fill(unit, LARGE, '/'))?.length ?? 0);
    expect(Math.max(...counts)).toBeLessThanOrEqual(MAX_READINGS);
    const all = '/a;b%3b/%5c%2523%253f%252f%25C2%25AD.//x%20/y%EF%BD%81.';
    expect(toPathReadings(all)).toBeUndefined();
    expect(decide(open, sprite, all)).toMatchObject({ type: 'deny', code: 'endpoint_not_allowed' });
  });
});

describe('a policy', () => {
  const compile = (rules: readonly string[]) => {
    compilePolicy({ allow_all: true, blocked_endpoints: rules, allowed_endpoints: rules }).rules();
  };
  const kinds: readonly (readonly [string, (length: number) => string])[] = [
    ['stars before a letter', (length) => fill('*', length, '', 'x')],
    ['slashes', (length) => fill('/', length, '/', 'x')],
    ['backslashes', (length) => fill('\\', length, '/', 'x')],
    ['escapes of escapes', (length) => fill('%25', length, '/', '41*')],
    ['layers', (length) => fill('//a', length, '/%252561%EF%BC%8F', '*')],
    ['letters that grow', (length) => fill('%EF%B7%BA', length, '/', '*')],
    ['marks out of order', (length) => fill('%CC%80', length / 2, '/a') + fill('%CC%96', length / 2)],
    ['marks out of order, as they are', (length) => fill('\u0300', length / 2, '/%41a') + fill('\u0316', length / 2)],
    ['spaces', (length) => fill(' ', length, '/', 'x')],
  ];

  it.each(kinds)('of rules twice as long costs at most 2.5 times as much: %s', (_name, make) => {
    const rules = (text: string) => Array.from({ length: 16 }, (_, at) => `/${at}${text}`);
    const ratio = growthOf((text) => compile(rules(text)), make(1_000), make(2_000), LINEAR);
    expect(ratio).toBeLessThanOrEqual(LINEAR);
  });

  it.each([
    ['alike', alike],
    ['nested', nested],
  ])('asks no more of a path when it has 16 times as many rules: %s', (_name, make) => {
    const of = (count: number) => compilePolicy({ allow_all: true, blocked_endpoints: make(count) });
    const policies = new Map([
      ['few', of(16)],
      ['many', of(256)],
    ]);
    const path = `/${'b'.repeat(10)}${'/'.repeat(4_000)}${'a'.repeat(2_100)}`;
    const work = (which: string) => {
      for (let run = 0; run < 20; run += 1) decide(policies.get(which) ?? open, sprite, path);
    };
    expect(growthOf(work, 'few', 'many', LINEAR)).toBeLessThanOrEqual(LINEAR);
  });
});
