// What a stranger sends is compared with a secret in constant time: the comparison is that of Node, and does not stop at the first byte
// that differs.
import { beforeEach, expect, test, vi } from 'vitest';

const compared = vi.hoisted((): { lengths: number[] } => ({ lengths: [] }));
vi.mock('node:crypto', async (load) => {
  const real = await load<typeof import('node:crypto')>();
  const timingSafeEqual: typeof real.timingSafeEqual = (one, other) => {
    compared.lengths.push(one.byteLength);
    return real.timingSafeEqual(one, other);
  };
  return { ...real, timingSafeEqual };
});

const { Secret } = await import('../../src/core/secret.ts');
const { systemClock } = await import('../../src/core/clock.ts');
const { matchesSignature, signContent } = await import('../../src/core/signature.ts');
const { createExtensionProviders } = await import('../../src/platform/extension-providers/extension-providers.ts');
const { createProviderRegistration } = await import('../../src/platform/extension-providers/provider-registration.ts');
const { createFormTokens } = await import('../../src/platform/sign-on/form-tokens.ts');
const { openSqliteStorage } = await import('../../src/platform/storage/sqlite-storage.ts');
const { createPasswords } = await import('../../src/platform/users/passwords.ts');
const { createVault } = await import('../../src/platform/vault/vault.ts');
const { createSignedCookie } = await import('../../src/provider/index.ts');
const { tempDir } = await import('../support/temp-dir.ts');

beforeEach(() => {
  compared.lengths.length = 0;
});

/** `text` with another first character, another last one, and as it is. */
const toGuesses = (text: string) => {
  const other = (char: string | undefined) => (char === 'a' ? 'b' : 'a');
  return [other(text[0]) + text.slice(1), text.slice(0, -1) + other(text.at(-1)), text];
};

test('signatures of requests and webhooks', () => {
  const secret = new Secret('shared');
  const guesses = toGuesses(signContent(secret, 'body'));
  expect(guesses.map((given) => matchesSignature(secret, 'body', given))).toEqual([false, false, true]);
  expect(compared.lengths).toEqual([32, 32, 32]);
});

test('secrets of clients of sign-on, of which all are compared', async () => {
  await using storage = await openSqliteStorage(tempDir());
  const vault = createVault([new Secret('ab'.repeat(32))]);
  const registration = createProviderRegistration({ storage, vault, clock: systemClock });
  const { provider, secrets } = await registration.create({ name: 'kv', base_url: 'https://kv.example' });
  const { secret } = await registration.rotate('kv', 'client', 60_000);
  const providers = createExtensionProviders({ sql: storage, vault, clock: systemClock });
  const check = (text: string) => providers.checkClientSecret(provider, new Secret(text));
  for (const known of [secrets.client, secret]) {
    compared.lengths.length = 0;
    expect(await Promise.all(toGuesses(known.reveal()).map(check))).toEqual([false, false, true]);
    expect(compared.lengths).toEqual([32, 32, 32, 32, 32, 32]);
  }
});

test('passwords', async () => {
  const passwords = createPasswords({ N: 2, r: 1, p: 1 });
  const stored = await passwords.hash(new Secret('correct horse'));
  const checks = toGuesses('correct horse').map((text) => passwords.check(new Secret(text), stored));
  expect(await Promise.all(checks)).toEqual([false, false, true]);
  expect(compared.lengths).toEqual([32, 32, 32]);
});

test('tokens of forms, and cookies of the kit', () => {
  const formTokens = createFormTokens(Buffer.alloc(32, 1));
  const cookie = new Secret('cookie');
  const guesses = toGuesses(formTokens.create(cookie, ['sign in']));
  expect(guesses.map((given) => formTokens.check(given, cookie, ['sign in']))).toEqual([false, false, true]);
  expect(compared.lengths).toEqual([43, 43, 43]);

  const secrets = () => [new Secret('s'.repeat(20))];
  const signed = createSignedCookie({ secrets, purpose: 'x', path: '/', isSecure: false, kept_s: 60 });
  const [pair = ''] = signed.set('name', 'value').split(';');
  compared.lengths.length = 0;
  const [first, last] = [pair.lastIndexOf('.') + 1, pair.length - 2];
  const swap = (at: number) => pair.slice(0, at) + (pair[at] === 'a' ? 'b' : 'a') + pair.slice(at + 1);
  expect([swap(first), swap(last), pair].map((header) => signed.read(header, 'name'))).toEqual([
    undefined,
    undefined,
    'value',
  ]);
  expect(compared.lengths).toEqual([32, 32, 32]);
});
