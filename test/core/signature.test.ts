import { expect, it } from 'vitest';
import { Secret } from '../../src/core/secret.ts';
import { matchesSignature, signContent } from '../../src/core/signature.ts';

const secret = new Secret('key');
const content = 'The quick brown fox jumps over the lazy dog';
/** The published example of HMAC-SHA-256 for this key and text. */
const known = 'f7bc83f430538424b13298e6aa6fb143ef4d59a14946175997479dbc2d1a3cd8';

it('signs as the published example says', () => {
  expect(signContent(secret, content)).toBe(known);
  expect(signContent(secret, Buffer.from(content))).toBe(known);
});

it.each([
  ['lower-case hex', known],
  ['upper-case hex', known.toUpperCase()],
  ['hex after sha256=', `sha256=${known}`],
  ['base64', Buffer.from(known, 'hex').toString('base64')],
  ['white space around it', ` ${known}\n`],
])('accepts %s', (_form, given) => {
  expect(matchesSignature(secret, content, given)).toBe(true);
});

it.each([
  ['another digest', known.replace('f7', 'f8')],
  ['half of it', known.slice(0, 32)],
  ['nothing', ''],
  ['base64 cut short', Buffer.from(known, 'hex').toString('base64').slice(0, 40)],
  ['text', 'signature'],
])('refuses %s', (_form, given) => {
  expect(matchesSignature(secret, content, given)).toBe(false);
});

it('refuses another secret and changed content', () => {
  expect(matchesSignature(new Secret('other'), content, known)).toBe(false);
  expect(matchesSignature(secret, `${content}.`, known)).toBe(false);
});
