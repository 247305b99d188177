// What a pool makes of the sources that clones share, and of those that they do not.
import { describe, expect, test } from 'vitest';
import { createEntropyPool, type EntropySources } from '../../src/core/entropy-pool.ts';

/** Everything alike in every machine that is made of it. */
function sharedSources(): EntropySources {
  let reads = 0;
  let now_ns = 0n;
  return {
    kernel(buffer) {
      reads += 1;
      buffer.fill(reads % 256);
    },
    clock_ns() {
      now_ns += 40n;
      return now_ns;
    },
    counters: () => undefined,
  };
}

function drawSeveral(sources: EntropySources, before?: Uint8Array): string[] {
  const pool = createEntropyPool(sources);
  if (before !== undefined) pool.mix(before);
  return Array.from({ length: 20 }, () => pool.draw(16).toString('hex'));
}

function shareOf(a: readonly string[], b: readonly string[]): number {
  return a.filter((value) => b.includes(value)).length;
}

describe('an entropy pool', () => {
  test('is the same for the same sources, and never repeats', () => {
    const values = drawSeveral(sharedSources());
    expect(drawSeveral(sharedSources())).toEqual(values);
    expect(new Set(values).size).toBe(values.length);
  });

  test('never repeats while the kernel gives the same bytes again and again and the clock stands still', () => {
    const values = drawSeveral({ kernel: (buffer) => buffer.fill(7), clock_ns: () => 1n, counters: () => undefined });
    expect(new Set(values).size).toBe(values.length);
  });

  test('parts for ever after one source differed once', () => {
    const values = drawSeveral(sharedSources());
    let readings = 0;
    const late: EntropySources = sharedSources();
    const once_ns = () => {
      readings += 1;
      return late.clock_ns() + (readings === 5 ? 1n : 0n);
    };
    expect(shareOf(drawSeveral({ ...late, clock_ns: once_ns }), values)).toBe(0);
    let counted = 0;
    const counters = () => (counted++ === 0 ? Buffer.from('intr 1') : undefined);
    expect(shareOf(drawSeveral({ ...sharedSources(), counters }), values)).toBe(0);
    expect(shareOf(drawSeveral(sharedSources(), Buffer.from('nonce')), values)).toBe(0);
  });

  test('depends on the kernel alone as well', () => {
    const kernel = (buffer: Uint8Array) => buffer.fill(99);
    expect(shareOf(drawSeveral({ ...sharedSources(), kernel }), drawSeveral(sharedSources()))).toBe(0);
  });

  test.each([0, 1, 32, 33, 64, 65, 1_000])('gives %i bytes that do not repeat within', (length) => {
    const bytes = createEntropyPool(sharedSources()).draw(length);
    expect(bytes).toHaveLength(length);
    const words = Array.from({ length: Math.floor(length / 8) }, (_, n) => bytes.toString('hex', n * 8, n * 8 + 8));
    expect(new Set(words).size).toBe(words.length);
  });

  test('gives nothing when the kernel gives nothing', () => {
    const kernel = () => {
      throw new Error('gone');
    };
    expect(() => createEntropyPool({ ...sharedSources(), kernel }).draw(16)).toThrow('gone');
  });
});
