// Random policies against a model that knows no table. REMORA_FUZZ_SEED draws others.
import { expect, onTestFailed, test } from 'vitest';
import type { NetworkPolicyRule } from '../../../src/contract/network-policy.ts';
import { compilePolicy } from '../../../src/core/network-policy/compile-policy.ts';
import { createDice } from '../../support/dice.ts';
import { findLongestTurn_ms } from '../../support/longest-turn.ts';
import { judgeNaively } from '../../support/network/naive-policy.ts';
import { disguise, toDomain, toName, toRule } from '../../support/network/random-policy.ts';
import { threadTime_ms } from '../../support/thread-time.ts';

const POLICIES = 400;
const NAMES = 25;
const MANY = 10_000;
const LONGEST_TURN_MS = 20;

test('random policies judge as the model does', async () => {
  const seed = process.env.REMORA_FUZZ_SEED ?? '5eed';
  onTestFailed(() => void process.stderr.write(`\nREMORA_FUZZ_SEED=${seed}\n`));
  const dice = createDice(seed);
  const seen = new Set<string>();
  for (let round = 0; round < POLICIES; round += 1) {
    const presets = new Map(
      ['one', 'two'].map((name) => {
        const domains = Array.from({ length: dice.below(4) }, () => toDomain(dice));
        return [name, { name, date: '2026-01-31', about: name, domains }];
      }),
    );
    const rules = Array.from({ length: dice.below(13) }, () => toRule(dice, ['one', 'two']));
    const policy = await compilePolicy(rules, presets);
    for (let asked = 0; asked < NAMES; asked += 1) {
      const name = disguise(dice, toName(dice));
      const expected = judgeNaively(rules, presets, name).action;
      seen.add(`${expected} by ${policy.judgeName(name).rule === undefined ? 'no rule' : 'a rule'}`);
      expect(policy.judgeName(name).verdict, `${seed}: ${name} of ${JSON.stringify([rules, [...presets]])}`).toBe(
        expected,
      );
    }
  }
  expect([...seen].sort()).toEqual(['allow by a rule', 'allow by no rule', 'deny by a rule', 'deny by no rule']);
});

const many = (toText: (index: number) => string) =>
  Array.from({ length: MANY }, (_, index): NetworkPolicyRule => ({ action: 'allow', domain: toText(index) }));

test('with ten thousand rules a name costs as much as with ten', async () => {
  const rules = many((index) => `*.tenant-${index}.example.com`);
  const large = await compilePolicy(rules);
  const small = await compilePolicy(rules.slice(0, 10));
  // The dearest name there is: every label is looked up, and none is found.
  const dearest = `${'a.'.repeat(126)}b`;
  const judge = (policy: typeof large) => {
    for (let at = 0; at < 1_000; at += 1) policy.judgeName(dearest);
  };
  let ratio = Number.POSITIVE_INFINITY;
  for (let run = 0; run < 20 && ratio > 3; run += 1) {
    ratio = Math.min(ratio, threadTime_ms(() => judge(large)) / threadTime_ms(() => judge(small)));
  }
  expect(ratio).toBeLessThan(3);
  expect(large.judgeName('x.tenant-9999.example.com').rule?.index).toBe(MANY - 1);
});

test.each<[string, NetworkPolicyRule[]]>([
  ['names', many((index) => `*.tenant-${index}.example.com`)],
  ['long names in another script', many((index) => `${'ü'.repeat(40)}.${'ä'.repeat(40)}${index}.example`)],
  ['names that are none', many(() => 'ü'.repeat(250))],
  ['one preset', Array.from({ length: MANY }, () => ({ include: 'defaults' }))],
])('ten thousand rules of %s hold nobody up', async (_, rules) => {
  const compile = () => compilePolicy(rules).catch(() => undefined);
  expect(await findLongestTurn_ms(LONGEST_TURN_MS, compile)).toBeLessThanOrEqual(LONGEST_TURN_MS);
});
