// Which rule of a network policy decides on a name: every line is a policy, a name and what has to come of it. The order of the rules
// never counts, so that each line is tried in both directions.
import { expect, test } from 'vitest';
import { compilePolicy, type NetworkPolicy } from '../../../src/core/network-policy/compile-policy.ts';
import type { NetworkPreset } from '../../../src/core/network-policy/presets/network-preset.ts';
import { readPolicy } from '../../support/read-policy.ts';

const preset = (name: string, domains: string[]): NetworkPreset => ({ name, date: '2026-01-31', about: name, domains });
const presets = new Map(
  [preset('tools', ['code.example', '*.code.example', 'deep.sub.code.example']), preset('all', ['*'])].map((each) => [
    each.name,
    each,
  ]),
);

/** What decides, as in the policy; a domain that a preset brought, as `@preset:domain`. */
function show(policy: NetworkPolicy, name: string): string {
  const { verdict, rule } = policy.judgeName(name);
  if (rule === undefined) return verdict;
  expect(rule.action).toBe(verdict);
  return rule.include === undefined ? `${verdict} ${rule.domain}` : `${verdict} @${rule.include}:${rule.domain}`;
}

const UMLAUT = 'bücher.example';
const PUNYCODE = 'xn--bcher-kva.example';
const LABEL_63 = 'a'.repeat(63);
/** 253 characters: the longest name. */
const LONGEST = `${LABEL_63}.${LABEL_63}.${LABEL_63}.${'a'.repeat(61)}`;

const lines: readonly (readonly [policy: string, name: string, expected: string])[] = [
  // Nothing is restricted without rules, not even what is no name.
  ['', 'a.example', 'allow'],
  ['', '127.0.0.1', 'allow'],
  // What no rule covers is denied when there is any.
  ['+a.example', 'a.example', 'allow a.example'],
  ['+a.example', 'b.example', 'deny'],
  ['+a.example', 'x.a.example', 'deny'],
  ['+a.example', 'example', 'deny'],
  ['+a.example', 'aa.example', 'deny'],
  ['+a.example', 'a.example.org', 'deny'],
  ['-a.example', 'a.example', 'deny a.example'],
  ['-a.example', 'b.example', 'deny'],
  ['-a.example -*.b.example', 'c.example', 'deny'],
  ['-*', 'a.example', 'deny *'],
  // Every name.
  ['+*', 'a.example', 'allow *'],
  ['+*', 'localhost', 'allow *'],
  ['+* -a.example', 'a.example', 'deny a.example'],
  ['+* -a.example', 'b.a.example', 'allow *'],
  ['-* +a.example', 'a.example', 'allow a.example'],
  ['-* +a.example', 'b.example', 'deny *'],
  ['+* -*.example', 'a.example', 'deny *.example'],
  ['+* -*.example', 'example', 'allow *'],
  // A wildcard and its parent.
  ['+*.a.example', 'x.a.example', 'allow *.a.example'],
  ['+*.a.example', 'y.x.a.example', 'allow *.a.example'],
  ['+*.a.example', 'a.example', 'deny'],
  ['+*.a.example', 'xa.example', 'deny'],
  ['+*.a.example', 'x.a.example.org', 'deny'],
  ['+*.a.example +a.example', 'a.example', 'allow a.example'],
  ['+*.a.example -a.example', 'x.a.example', 'allow *.a.example'],
  ['+*.example', 'a.example', 'allow *.example'],
  // Nested wildcards: the longest decides, and an exact name before all of them.
  ['+*.example -*.b.example', 'a.b.example', 'deny *.b.example'],
  ['+*.example -*.b.example', 'b.example', 'allow *.example'],
  ['+*.example -*.b.example +*.c.b.example', 'x.c.b.example', 'allow *.c.b.example'],
  ['+*.example -*.b.example +*.c.b.example', 'c.b.example', 'deny *.b.example'],
  ['+*.example -*.b.example +*.c.b.example', 'y.x.c.b.example', 'allow *.c.b.example'],
  ['-*.b.example +a.b.example', 'a.b.example', 'allow a.b.example'],
  ['-*.b.example +a.b.example', 'x.a.b.example', 'deny *.b.example'],
  ['+*.b.example -a.b.example', 'a.b.example', 'deny a.b.example'],
  ['-* +*.example -*.b.example +a.b.example', 'a.b.example', 'allow a.b.example'],
  ['-* +*.example -*.b.example +a.b.example', 'c.example', 'allow *.example'],
  ['-* +*.example -*.b.example +a.b.example', 'c.test', 'deny *'],
  // One pattern with both actions.
  ['+a.example -a.example', 'a.example', 'deny a.example'],
  ['+*.a.example -*.a.example', 'x.a.example', 'deny *.a.example'],
  ['+* -*', 'a.example', 'deny *'],
  ['+A.example -a.example.', 'a.example', 'deny a.example.'],
  // Case and the dot at the end, in the rule and in the name.
  ['+a.example', 'A.EXAMPLE', 'allow a.example'],
  ['+A.Example', 'a.example', 'allow A.Example'],
  ['+a.example', 'a.example.', 'allow a.example'],
  ['+a.example.', 'a.example', 'allow a.example.'],
  ['-*.A.example. +*', 'X.a.EXAMPLE.', 'deny *.A.example.'],
  ['+*', 'a.example..', 'deny'],
  // Scripts.
  [`+${UMLAUT}`, PUNYCODE, `allow ${UMLAUT}`],
  [`+${PUNYCODE}`, UMLAUT, `allow ${PUNYCODE}`],
  [`+${UMLAUT}`, 'BÜCHER.Example', `allow ${UMLAUT}`],
  [`+${UMLAUT}`, PUNYCODE.toUpperCase(), `allow ${UMLAUT}`],
  [`+*.${UMLAUT}`, `x.${PUNYCODE}`, `allow *.${UMLAUT}`],
  [`+* -${UMLAUT}`, 'bücher。example', `deny ${UMLAUT}`],
  [`+${UMLAUT}`, 'bucher.example', 'deny'],
  ['+* -a.example', 'ａ.example', 'deny a.example'],
  ['+* -ab.example', 'a\u00adb.example', 'deny ab.example'],
  ['+k.example', '\u212a.example', 'allow k.example'],
  // Presets.
  ['@tools', 'code.example', 'allow @tools:code.example'],
  ['@tools', 'x.code.example', 'allow @tools:*.code.example'],
  ['@tools', 'other.example', 'deny'],
  ['@tools @tools', 'code.example', 'allow @tools:code.example'],
  ['@tools -*', 'code.example', 'allow @tools:code.example'],
  ['@tools -code.example', 'code.example', 'deny code.example'],
  ['@tools -code.example', 'x.code.example', 'allow @tools:*.code.example'],
  ['@tools -*.code.example', 'x.code.example', 'deny *.code.example'],
  ['@tools -*.code.example', 'deep.sub.code.example', 'allow @tools:deep.sub.code.example'],
  ['@tools -x.code.example', 'x.code.example', 'deny x.code.example'],
  ['@tools +code.example', 'code.example', 'allow code.example'],
  ['@all -a.example', 'a.example', 'deny a.example'],
  ['@all -*', 'a.example', 'deny *'],
  ['@all @tools', 'code.example', 'allow @tools:code.example'],
  // What is no name is covered by nothing.
  ['+*', '', 'deny'],
  ['+*', '.', 'deny'],
  ['+*', '*', 'deny'],
  ['+*', '*.example', 'deny'],
  ['+*', '127.0.0.1', 'deny'],
  ['+*', '2130706433', 'deny'],
  ['+*', '127.1', 'deny'],
  ['+*', '0x7f.1', 'deny'],
  ['+*', 'a.0x7f', 'deny'],
  ['+*', '１２７.0.0.1', 'deny'],
  ['+*', '::1', 'deny'],
  ['+*', '[::1]', 'deny'],
  ['+*', 'a..example', 'deny'],
  ['+*', '.a.example', 'deny'],
  ['+*', 'a b.example', 'deny'],
  ['+*', 'a\0.example', 'deny'],
  ['+*', 'a%2eexample', 'deny'],
  ['+*', 'user@a.example', 'deny'],
  ['+*', 'a.example/path', 'deny'],
  ['+*', 'ü.example/path', 'deny'],
  ['+*', 'xn--ü.example', 'deny'],
  // Lengths.
  ['+*', `${LABEL_63}.example`, 'allow *'],
  ['+*', `${LABEL_63}a.example`, 'deny'],
  ['+*', LONGEST, 'allow *'],
  ['+*', `${LONGEST}.`, 'allow *'],
  ['+*', `${LONGEST}a`, 'deny'],
  ['+*', `${'ü'.repeat(70)}.example`, 'deny'],
  // Names that are no hosts, and such as no text may stand for.
  ['+*.example', '_acme-challenge.example', 'allow *.example'],
  ['+_dmarc.example', '_DMARC.example', 'allow _dmarc.example'],
  ['+*', '4.3.2.1.in-addr.arpa', 'allow *'],
  ['+*', '3-g.1a.example', 'allow *'],
  ['+constructor.example', '__proto__.example', 'deny'],
  ['+*.example', '__proto__.example', 'allow *.example'],
  ['+a.example', '__proto__', 'deny'],
];

test.each(lines)('%s: %s is %s', async (text, name, expected) => {
  const rules = readPolicy(text);
  expect(show(await compilePolicy(rules, presets), name)).toBe(expected);
  expect(show(await compilePolicy(rules.toReversed(), presets), name)).toBe(expected);
});

test('the rule that decides says where it stands, and the first of several equal ones does', async () => {
  const policy = await compilePolicy(
    readPolicy('-* +a.example @tools +a.example -b.example +b.example @tools'),
    presets,
  );
  expect(policy.isUnrestricted).toBe(false);
  expect(policy.judgeName('a.example')).toEqual({
    verdict: 'allow',
    rule: { index: 1, action: 'allow', domain: 'a.example' },
  });
  expect(policy.judgeName('x.code.example').rule).toEqual({
    ...{ index: 2, action: 'allow', domain: '*.code.example', include: 'tools' },
  });
  expect(policy.judgeName('b.example').rule).toEqual({ index: 4, action: 'deny', domain: 'b.example' });
  expect((await compilePolicy([], presets)).isUnrestricted).toBe(true);
});
