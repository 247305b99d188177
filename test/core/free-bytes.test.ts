import { expect, it } from 'vitest';
import { freeBytes } from '../../src/core/free-bytes.ts';

const LARGE = 64 * 1024;

it('gives back the memory of a large buffer that is whole', () => {
  const bytes = Buffer.allocUnsafeSlow(LARGE);
  freeBytes(bytes);
  expect(bytes.length).toBe(0);
  freeBytes(bytes);
});

it('leaves alone what others may have a part of', () => {
  const whole = Buffer.alloc(2 * LARGE, 'a');
  freeBytes(whole.subarray(0, LARGE));
  freeBytes(whole.subarray(LARGE));
  freeBytes(Buffer.from(new SharedArrayBuffer(LARGE)));
  expect(whole.equals(Buffer.alloc(2 * LARGE, 'a'))).toBe(true);
});
