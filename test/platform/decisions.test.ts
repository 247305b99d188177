// The pure parts of the platform, as tables.
import { describe, expect, test } from 'vitest';
import type { MachineStatus } from '../../src/contract/machines.ts';
import { Secret } from '../../src/core/secret.ts';
import { parseStat } from '../../src/linux/processes/process-table.ts';
import { createCatalogue } from '../../src/platform/catalogue/catalogue.ts';
import { catalogueEntry } from '../../src/platform/catalogue/catalogue-entry.ts';
import { parseBaseApiUrl } from '../../src/platform/connectors/base-api-url.ts';
import { judgeWait } from '../../src/platform/machines/moves/state-waiters.ts';
import { toProviderCall } from '../../src/platform/upstream/provider-call.ts';
import { stripQuery } from '../../src/platform/upstream/strip-query.ts';
import { seal, unseal } from '../../src/platform/vault/sealed.ts';
import { parseVaultKey } from '../../src/platform/vault/vault-key.ts';

describe('a wait', () => {
  const cases: [MachineStatus, string, MachineStatus, string | undefined, ReturnType<typeof judgeWait>][] = [
    ['running', 'a', 'running', undefined, 'satisfied'],
    ['running', 'a', 'running', 'a', 'satisfied'],
    ['running', 'b', 'running', 'a', 'lost'],
    ['running', 'a', 'suspended', undefined, 'waiting'],
    ['running', 'a', 'suspended', 'a', 'waiting'],
    ['stopped', 'a', 'stopped', 'a', 'satisfied'],
    ['stopped', 'a', 'running', 'a', 'lost'],
    ['stopped', 'a', 'running', undefined, 'waiting'],
    ['failed', 'a', 'running', undefined, 'lost'],
    ['failed', 'a', 'failed', undefined, 'satisfied'],
    ['destroyed', 'a', 'stopped', undefined, 'lost'],
    ['destroyed', 'a', 'destroyed', 'a', 'satisfied'],
  ];
  test.each(cases)('now %s of %s, wanted %s of %s: %s', (state, instance_id, wanted, wantedInstance, verdict) => {
    expect(judgeWait({ state, instance_id }, { state: wanted, instance_id: wantedInstance })).toBe(verdict);
  });
});

test('a process whose name holds spaces and parentheses is read', () => {
  const rest = `S 1 4242 4242 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 987654 ${'0 '.repeat(30)}`;
  expect(parseStat(`77 (a) b (c) ${rest}`)).toEqual({
    pid: 77,
    parent: 1,
    group: 4_242,
    state: 'S',
    start_ticks: 987_654,
    isKernelThread: false,
  });
  for (const text of ['', '77', '77 (a', '77 (a) S']) expect(parseStat(text)).toBeUndefined();
});

describe('the vault', () => {
  const key = Buffer.alloc(32, 1);
  const iv = Buffer.alloc(12, 2);

  test('opens a value in its own place only, with its own key only, and unchanged only', () => {
    const here = { key, place: 'row 1', version: 2 } as const;
    const sealed = seal(here, iv, Buffer.from('value'));
    expect(unseal(here, sealed)?.toString()).toBe('value');
    expect(unseal({ ...here, place: 'row 2' }, sealed)).toBeUndefined();
    expect(unseal({ ...here, key: Buffer.alloc(32, 3) }, sealed)).toBeUndefined();
    expect(unseal({ ...here, version: 1 }, sealed)).toBeUndefined();
    for (let index = 0; index < sealed.length; index += 1) {
      const changed = Buffer.from(sealed);
      changed.writeUInt8(changed.readUInt8(index) ^ 1, index);
      expect(unseal(here, changed), String(index)).toBeUndefined();
      expect(unseal(here, sealed.subarray(0, index)), String(index)).toBeUndefined();
    }
  });

  test('reads a key as hex and as base64, and names it the same', () => {
    const id = parseVaultKey(new Secret(key.toString('hex'))).id;
    expect(id).toMatch(/^[0-9a-f]{8}$/);
    for (const text of [key.toString('hex').toUpperCase(), key.toString('base64'), `${key.toString('base64url')}\n`]) {
      expect(parseVaultKey(new Secret(text))).toMatchObject({ id, bytes: key });
    }
  });

  test.each(['', 'x', 'ab'.repeat(31), 'zz'.repeat(32), 'ab'.repeat(33)])(
    'refuses the key %s without repeating it',
    (text) => {
      const read = () => parseVaultKey(new Secret(text));
      expect(read).toThrow(/32 bytes/);
      if (text.length > 1) expect(read).not.toThrow(new RegExp(text));
    },
  );
});

describe('the catalogue', () => {
  test('has the providers that every platform knows, and every one of them is usable', () => {
    const names = createCatalogue().entries.map((entry) => entry.provider);
    for (const name of ['openai', 'anthropic', 'openrouter', 'gemini', 'groq', 'mistral', 'deepseek', 'gitlab']) {
      expect(names).toContain(name);
    }
    for (const name of [
      'github',
      'slack',
      'linear',
      'notion',
      'stripe',
      'sentry',
      'discord',
      'telegram',
      'custom_api',
    ]) {
      expect(names).toContain(name);
    }
  });

  const injected = [
    ['openai', '/v1/models', 'https://api.openai.com', '/v1/models', ['authorization', 'Bearer k']],
    ['groq', '/v1/models', 'https://api.groq.com', '/openai/v1/models', ['authorization', 'Bearer k']],
    ['anthropic', '/v1/x', 'https://api.anthropic.com', '/v1/x', ['anthropic-version', '2023-06-01', 'x-api-key', 'k']],
    [
      'gemini',
      '/v1beta/models?key=mine',
      'https://generativelanguage.googleapis.com',
      '/v1beta/models',
      ['x-goog-api-key', 'k'],
    ],
    ['gitlab', '/api/v4/user', 'https://gitlab.com', '/api/v4/user', ['private-token', 'k']],
    ['linear', '/graphql', 'https://api.linear.app', '/graphql', ['authorization', 'k']],
    ['discord', '/v10/users/@me', 'https://discord.com', '/api/v10/users/@me', ['authorization', 'Bot k']],
    ['telegram', '/getMe', 'https://api.telegram.org', '/botk/getMe', []],
  ] as const;
  test.each(injected)('puts the credential of %s where it belongs', (provider, path, origin, sent, headers) => {
    const entry = createCatalogue().find(provider);
    if (entry?.address.type !== 'fixed') throw new Error(`${provider} has no address`);
    const call = toProviderCall(entry, entry.address.url, new Secret('k'), { path, rawHeaders: [] });
    expect(call).toMatchObject({ origin, path: sent, injected: [...headers] });
  });
});

describe('dropping parameters from a query', () => {
  const cases = [
    ['/a', '/a'],
    ['/a?', '/a?'],
    ['/a?x=1', '/a?x=1'],
    ['/a?key=1', '/a'],
    ['/a?key', '/a'],
    ['/a?x=%2F&key=1', '/a?x=%2F'],
    ['/a?key=1&x=%2f', '/a?x=%2f'],
    ['/a?x=1&key=1&y=2', '/a?x=1&y=2'],
    ['/a?KEY=1&kEy=2&k%65y=3', '/a'],
    ['/a?x=1;key=2', '/a?x=1'],
    ['/a?key[]=1&x', '/a?x'],
    ['/a?+key=1', '/a'],
    ['/a?monkey=1&keys=2', '/a?monkey=1&keys=2'],
    ['/a?x=key=1', '/a?x=key=1'],
    ['/a?%zz=1&key=2', '/a?%zz=1'],
    ['/a?&&', '/a?&&'],
    ['/a?key[%0A]=1', '/a'],
    ['/a?key%5B%0A%5D=1', '/a'],
    ['/a?k%65y[%FF]=1&x', '/a?x'],
    ['/a?key%00x=1', '/a'],
  ] as const;
  test.each(cases)('%s becomes %s', (path, expected) => {
    expect(stripQuery(path, ['key'])).toBe(expected);
  });

  test.each(['apiKey', 'APIKEY', 'apikey'])('takes a name that is given as %s for the same', (name) => {
    expect(stripQuery('/a?apiKey=1&apikey=2&x=3&API%4bEY=4', [name])).toBe('/a?x=3');
  });

  test.each(['api_key', 'api.key'])('takes what PHP reads as one name for the same: %s', (name) => {
    expect(stripQuery('/a?api_key=1&api.key=2&x=3&api+key=4&api-key=5', [name])).toBe('/a?x=3&api-key=5');
  });
});

describe('the address of a connector', () => {
  const own = (more: object = {}) =>
    catalogueEntry.parse({
      provider: 'p',
      display_name: 'P',
      description: 'p',
      address: { type: 'own' },
      injection: { in: 'header', name: 'authorization', prefix: '' },
      sample_path: '/',
      ...more,
    });

  test.each([
    ['https://api.example.com', 'https://api.example.com'],
    ['https://api.example.com/', 'https://api.example.com'],
    ['https://api.example.com/v1/', 'https://api.example.com/v1'],
    ['https://API.Example.com:8443/v1', 'https://api.example.com:8443/v1'],
  ])('%s is taken as %s', (given, expected) => {
    expect(parseBaseApiUrl(own(), given)).toBe(expected);
  });

  test.each([
    'nonsense',
    'http://api.example.com',
    'ftp://api.example.com',
    'https://user@api.example.com',
    'https://user:pass@api.example.com',
    'https://api.example.com?x=1',
    'https://api.example.com/?',
    'https://api.example.com/#x',
    'https://api.example.com/%2e%2e/x',
    'https://api.example.com/a/../b',
    'https://api.example.com/a/.',
    'https://api.example.com\\a',
    'https://api.example.com/a\tb',
    'https://api.example.com/a//b',
    'https://127.0.0.1',
    'https://2130706433',
    'https://0x7f.1',
    'https://[::1]',
    'https://[::ffff:10.0.0.1]',
    'https://169.254.169.254/latest',
    'https://localhost',
    'https://x.localhost',
    'https://intranet',
    'https://db.internal',
    'https://printer.local.',
  ])('%s is refused', (given) => {
    expect(() => parseBaseApiUrl(own(), given)).toThrow(/^body\.base_api_url: /);
  });

  test('of a provider with hosts of its own must be one of them', () => {
    const entry = own({ address: { type: 'own', hosts: ['*.db.example', 'one.example'] } });
    for (const host of ['a.db.example', 'a.b.db.example', 'one.example']) {
      expect(parseBaseApiUrl(entry, `https://${host}`)).toBe(`https://${host}`);
    }
    for (const host of ['db.example', 'evildb.example', 'two.one.example', 'a.db.example.evil.example']) {
      expect(() => parseBaseApiUrl(entry, `https://${host}`)).toThrow(/one of/);
    }
  });

  test('may be plain http and private where the catalogue says so', () => {
    expect(parseBaseApiUrl(own({ allow_http: true }), 'http://127.0.0.1:9/v1')).toBe('http://127.0.0.1:9/v1');
  });
});
