// Randomness comes from one module and from nowhere else, and machines that share what clones share do not share it.
import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, onTestFinished, test } from 'vitest';
import { mixEntropy, randomBytes, randomFraction, randomHex, randomToken } from '../../src/core/urandom.ts';

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

describe('two processes with the same /dev/urandom, the same counters and a clock that starts alike', () => {
  const child = new URL('../support/clone-child.ts', import.meta.url).pathname;

  async function drawInChild(nonce?: string): Promise<string[]> {
    const directory = mkdtempSync(join(tmpdir(), 'remora-clone-'));
    onTestFinished(() => rmSync(directory, { recursive: true }));
    const urandom = join(directory, 'urandom');
    writeFileSync(
      urandom,
      Uint32Array.from({ length: 100_000 }, (_, n) => n),
    );
    const counters = join(directory, 'counters');
    writeFileSync(counters, 'LOC: 1 2\nintr 3\n');
    const args = [child, urandom, counters, ...(nonce === undefined ? [] : [nonce])];
    const { stdout } = await promisify(execFile)(process.execPath, args);
    return stdout.trim().split('\n');
  }

  test('draw no value in common', async () => {
    const [one, other] = await Promise.all([drawInChild(), drawInChild()]);
    expect(one).toHaveLength(800);
    expect(new Set([...one, ...other]).size).toBe(1_600);
  });

  test('and none after either was given bytes of its own', async () => {
    const [one, other] = await Promise.all([drawInChild('one'), drawInChild('other')]);
    expect(new Set([...one, ...other]).size).toBe(1_600);
  });
});

test('mixing bytes in keeps the draws apart', () => {
  const before = randomHex(16);
  mixEntropy(Buffer.from('nonce of the platform'));
  expect(randomHex(16)).not.toBe(before);
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
