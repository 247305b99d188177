// What a rule of a network policy may not say: each is refused with its field and what to write, and no policy is made of it.
import { expect, test } from 'vitest';
import type { NetworkPolicyRule } from '../../../src/contract/network-policy.ts';
import { checkRules } from '../../../src/core/network-policy/check-rules.ts';
import { compilePolicy } from '../../../src/core/network-policy/compile-policy.ts';
import { networkPresets } from '../../../src/core/network-policy/presets/network-presets.ts';

const allow = (domain: string): NetworkPolicyRule => ({ action: 'allow', domain });

test.each<[NetworkPolicyRule, field: string, message: RegExp]>([
  [{}, '', /either include, or both action and domain/],
  [{ action: 'allow' }, '', /either include/],
  [{ domain: 'a.example' }, '', /either include/],
  [{ include: 'defaults', action: 'deny' }, '', /either include/],
  [{ include: 'defaults', domain: 'a.example' }, '', /either include/],
  [{ include: 'nothing' }, '.include', /no preset; there are defaults, code_hosts, package_registries, /],
  [{ include: '' }, '.include', /no preset/],
  [{ include: '__proto__' }, '.include', /no preset/],
  [allow(''), '.domain', /no name; write a name such as example\.com/],
  [allow('*.'), '.domain', /no name; write/],
  [allow('.'), '.domain', /empty label/],
  [allow('.a.example'), '.domain', /empty label/],
  [allow('a..example'), '.domain', /empty label/],
  [allow('a.*.b'), '.domain', /first label/],
  [allow('*a.b'), '.domain', /first label/],
  [allow('**.b'), '.domain', /first label/],
  [allow('*.*.b'), '.domain', /first label/],
  [allow('a.*'), '.domain', /first label/],
  [allow('https://a.example'), '.domain', /scheme/],
  [allow('a.example/path'), '.domain', /path/],
  [allow('10.0.0.0/8'), '.domain', /range of addresses/],
  [allow('a.example:443'), '.domain', /every port/],
  [allow('127.0.0.1'), '.domain', /address/],
  [allow('*.0.0.1'), '.domain', /address/],
  [allow('0x7f000001'), '.domain', /address/],
  [allow('2130706433'), '.domain', /address/],
  [allow('::1'), '.domain', /address/],
  [allow('[2001:db8::1]'), '.domain', /address/],
  [allow('a.1'), '.domain', /end in a number/],
  [allow(`${'a'.repeat(64)}.example`), '.domain', /63 characters/],
  [allow(`${'a.'.repeat(126)}ab`), '.domain', /253/],
  [allow('ü'.repeat(2_000)), '.domain', /63/],
  [allow('a b.example'), '.domain', /letters, digits/],
  [allow(' a.example'), '.domain', /letters, digits/],
  [allow('a@b.example'), '.domain', /letters, digits/],
  [allow('a\n.example'), '.domain', /letters, digits/],
])('%j', async (rule, field, message) => {
  const rules = [allow('good.example'), rule];
  await expect(checkRules(rules, 'body.rules')).rejects.toThrow(
    expect.objectContaining({
      code: 'invalid_request',
      details: { fields: [{ field: `body.rules.1${field}`, message: expect.stringMatching(message) }] },
    }),
  );
  await expect(compilePolicy(rules)).rejects.toThrow(expect.objectContaining({ code: 'invalid_request' }));
});

test('every mistake is named, up to twenty, and the rest is counted', async () => {
  await expect(
    checkRules(
      Array.from({ length: 30 }, () => ({})),
      'body.rules',
    ),
  ).rejects.toThrow(
    expect.objectContaining({
      message: expect.stringMatching(/rules\.19: .*; and 10 more$/),
      details: { fields: Array.from({ length: 20 }, () => expect.anything()) },
    }),
  );
});

test.each([...networkPresets.values()])(
  'the preset $name has a day and domains that a rule can have',
  async (preset) => {
    expect(networkPresets.get(preset.name)).toBe(preset);
    expect(preset.date).toMatch(/^20\d\d-\d\d-\d\d$/);
    expect(preset.about).not.toBe('');
    expect(preset.domains.length).toBeGreaterThan(1);
    expect(new Set(preset.domains).size).toBe(preset.domains.length);
    await checkRules(preset.domains.map(allow), 'domains');
    const policy = await compilePolicy([{ include: preset.name }]);
    for (const domain of preset.domains) {
      expect(policy.judgeName(domain.replace('*', 'x')), domain).toMatchObject({ verdict: 'allow' });
    }
    expect(policy.judgeName('example.com')).toEqual({ verdict: 'deny' });
  },
);

test('the preset "defaults" has everything of the others', async () => {
  const { judgeName } = await compilePolicy([{ include: 'defaults' }]);
  for (const name of ['github.com', 'registry.npmjs.org', 'files.pythonhosted.org', 'deb.debian.org', 'ghcr.io']) {
    expect(judgeName(name).verdict, name).toBe('allow');
  }
  expect(judgeName('api.anthropic.com')).toMatchObject({ verdict: 'allow', rule: { index: 0, include: 'defaults' } });
  for (const preset of networkPresets.values()) {
    for (const domain of preset.domains) expect(judgeName(domain.replace('*', 'x')).verdict, domain).toBe('allow');
  }
});
