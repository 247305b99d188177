import { describe, expect, it } from 'vitest';
import { isScanDue, smoothCost, toScanPace } from '../../../src/core/ports/scan-pace.ts';

describe('toScanPace', () => {
  it.each([
    ['a cheap scan', 0.4, true, { glance_ms: 250, gap_ms: 250, rest_ms: 2_000 }],
    ['a scan on a machine with much memory', 3.3, true, { glance_ms: 250, gap_ms: 660, rest_ms: 2_000 }],
    ['a costly scan', 20, true, { glance_ms: 250, gap_ms: 950, rest_ms: 8_000 }],
    ['a very costly scan', 500, true, { glance_ms: 250, gap_ms: 950, rest_ms: 10_000 }],
    ['no counters', 3.3, false, { glance_ms: 660, gap_ms: 660, rest_ms: 660 }],
    ['no counters and a costly scan', 20, false, { glance_ms: 950, gap_ms: 950, rest_ms: 950 }],
  ])('%s', (_name, cost_ms, counters, pace) => {
    const made = toScanPace({ cost_ms, counters, attentive: false });
    expect({
      ...made,
      gap_ms: Math.round(made.gap_ms),
      glance_ms: Math.round(made.glance_ms),
      rest_ms: Math.round(made.rest_ms),
    }).toEqual(pace);
  });

  it('scans at most half a percent of the time while nothing happens, and within a second of a change', () => {
    for (const counters of [true, false]) {
      for (let cost_ms = 0.1; cost_ms < 4.7; cost_ms += 0.1) {
        const pace = toScanPace({ cost_ms, counters, attentive: false });
        expect(cost_ms / pace.rest_ms).toBeLessThanOrEqual(0.005_001);
        expect(Math.max(pace.glance_ms, pace.gap_ms)).toBeLessThan(1_000);
      }
    }
  });

  it('looks more often while somebody waits, and never spends more than a tenth of a core on it', () => {
    for (let cost_ms = 0.1; cost_ms < 95; cost_ms += 1) {
      const pace = toScanPace({ cost_ms, counters: false, attentive: true });
      expect(pace.gap_ms).toBeLessThanOrEqual(toScanPace({ cost_ms, counters: false, attentive: false }).gap_ms);
      expect(cost_ms / pace.gap_ms).toBeLessThanOrEqual(0.100_001);
    }
  });
});

it('isScanDue asks for the gap after a change and for the rest without one', () => {
  const pace = { glance_ms: 250, gap_ms: 500, rest_ms: 2_000 };
  expect([499, 500].map((since) => isScanDue(pace, since, true))).toEqual([false, true]);
  expect([1_999, 2_000].map((since) => isScanDue(pace, since, false))).toEqual([false, true]);
});

it('smoothCost goes up quickly and comes down slowly', () => {
  expect(smoothCost(undefined, 3)).toBe(3);
  expect(smoothCost(2, 4)).toBe(3);
  expect(smoothCost(4, 2)).toBeCloseTo(3.8);
});
