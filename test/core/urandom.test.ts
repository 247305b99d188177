// Randomness comes from the kernel's device and from nowhere else (resume.md, section 2).
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { randomBytes, randomFraction, randomHex, randomToken } from '../../src/core/urandom.ts';

describe('random values', () => {
  test.each([0, 1, 16, 32, 100_000])('%i bytes', (length) => {
    const bytes = randomBytes(length);
    expect(bytes).toHaveLength(length);
    if (length >= 16) expect(randomBytes(length).equals(bytes)).toBe(false);
  });

  test('as text', () => {
    expect(randomHex(16)).toMatch(/^[0-9a-f]{32}$/);
    expect(randomToken(32)).toMatch(/^[\w-]{43}$/);
  });

  test('fractions lie in [0, 1) and are spread over it', () => {
    const quarters = [0, 0, 0, 0];
    for (let n = 0; n < 4_000; n += 1) {
      const fraction = randomFraction();
      expect(fraction).toBeGreaterThanOrEqual(0);
      expect(fraction).toBeLessThan(1);
      const quarter = Math.floor(fraction * 4);
      quarters[quarter] = (quarters[quarter] ?? 0) + 1;
    }
    for (const count of quarters) expect(count).toBeGreaterThan(800);
  });
});

test('no other source of randomness is used in src', () => {
  const root = new URL('../../src', import.meta.url).pathname;
  const banned =
    /Math\.random|randomUUID|getRandomValues|randomInt\b|import[^;]*\brandom(?:Bytes|Fill)\w*[^;]*from 'node:crypto'|crypto\.random/;
  const offenders = readdirSync(root, { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.[jt]s$/.test(name))
    .filter((name) => banned.test(readFileSync(join(root, name), 'utf8').replaceAll(/\/\/.*$/gm, '')));
  expect(offenders).toEqual([]);
});
