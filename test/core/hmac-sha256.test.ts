// HMAC with SHA-256: the published vectors, and the same as the library makes for keys and messages of every length.
import { createHmac } from 'node:crypto';
import { expect, it } from 'vitest';
import { hmacSha256 } from '../../src/core/hmac-sha256.ts';

// RFC 4231. The keys of its other cases are no text.
it.each([
  ['Jefe', 'what do ya want for nothing?', '5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843'],
  ['\x0b'.repeat(20), 'Hi There', 'b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7'],
])('the key %j and the message %j', (key, message, digest) => {
  expect(hmacSha256(key, message).toString('hex')).toBe(digest);
  expect(hmacSha256(key, Buffer.from(message)).toString('hex')).toBe(digest);
});

it('is what the library makes, below, at and above the length of a block', () => {
  const text = 'aé€😀\ud800'.repeat(100);
  for (let length = 0; length < 200; length += 1) {
    const [key, message] = [text.slice(0, length), text.slice(length)];
    const bytes = Uint8Array.from({ length }, (_, index) => (index * 7 + length) % 256);
    expect(hmacSha256(key, message)).toEqual(createHmac('sha256', key).update(message).digest());
    expect(hmacSha256(message, key)).toEqual(createHmac('sha256', message).update(key).digest());
    expect(hmacSha256(key, bytes)).toEqual(createHmac('sha256', key).update(bytes).digest());
  }
});

it('does not change what it is given, and reads the part of a buffer that it is given', () => {
  const whole = Buffer.from('before body after');
  const body = whole.subarray(7, 11);
  expect(hmacSha256('key', body)).toEqual(hmacSha256('key', 'body'));
  expect(String(whole)).toBe('before body after');
});
