import { describe, expect, it } from 'vitest';
import { createCallLimits } from '../../../src/core/gateway/call-limits.ts';
import { RemoraError } from '../../../src/core/remora-error.ts';

function openLimits(perSecond: number, inFlight: number) {
  let now_ms = 1_000;
  const limits = createCallLimits({ limit: () => ({ perSecond, inFlight }), noun: 'connector', now_ms: () => now_ms });
  const pass = (ms: number) => {
    now_ms += ms;
  };
  return { limits, pass };
}

function refusal(act: () => unknown): RemoraError | undefined {
  try {
    act();
    return undefined;
  } catch (error) {
    if (error instanceof RemoraError) return error;
    throw error;
  }
}

describe('calls of one connector', () => {
  it('beyond those of a second are refused with the time to wait, and let in after it', () => {
    const { limits, pass } = openLimits(2, 100);
    limits.admit('a');
    limits.admit('a');
    expect(refusal(() => limits.admit('a'))).toMatchObject({ code: 'too_many_requests', retryAfter_ms: 500 });
    pass(499);
    expect(refusal(() => limits.admit('a'))).toBeDefined();
    pass(1);
    limits.admit('a');
  });

  it('beyond those that may be in flight are refused until one is over, however often it is disposed of', () => {
    const { limits } = openLimits(1_000, 2);
    const first = limits.admit('a');
    limits.admit('a');
    expect(refusal(() => limits.admit('a'))?.message).toMatch(/2 calls in flight/);
    first[Symbol.dispose]();
    first[Symbol.dispose]();
    limits.admit('a');
    expect(refusal(() => limits.admit('a'))).toBeDefined();
  });

  it('cost the others nothing', () => {
    const { limits } = openLimits(1, 1);
    limits.admit('a');
    expect(refusal(() => limits.admit('a'))).toBeDefined();
    limits.admit('b');
  });

  it('are counted on when thousands of others came in between', () => {
    const { limits } = openLimits(1_000, 1);
    limits.admit('a');
    for (let index = 0; index < 5_000; index += 1) limits.admit(`k${index}`)[Symbol.dispose]();
    expect(refusal(() => limits.admit('a'))).toBeDefined();
  });
});
