import { describe, expect, it } from 'vitest';
import { isScanDue, smoothCost, toScanPace } from '../../../src/core/ports/scan-pace.ts';

const calm = (cost_ms: number, counters: boolean) =>
  toScanPace({ idleCost_ms: cost_ms, lastCost_ms: cost_ms, counters, lively: false, attentive: false });

describe('toScanPace', () => {
  it.each([
    ['a very cheap scan', 0.3, true, { glance_ms: 250, gap_ms: 250, rest_ms: 2_000 }],
    ['a cheap scan', 0.5, true, { glance_ms: 250, gap_ms: 250, rest_ms: 2_500 }],
    ['a scan on a machine with much memory', 2, true, { glance_ms: 250, gap_ms: 400, rest_ms: 10_000 }],
    ['a costly scan', 15, true, { glance_ms: 250, gap_ms: 750, rest_ms: 10_000 }],
    ['a very costly scan', 500, true, { glance_ms: 250, gap_ms: 750, rest_ms: 10_000 }],
    ['no counters', 3, false, { glance_ms: 600, gap_ms: 600, rest_ms: 600 }],
    ['no counters and a costly scan', 15, false, { glance_ms: 950, gap_ms: 950, rest_ms: 950 }],
  ])('%s', (_name, cost_ms, counters, pace) => {
    expect(calm(cost_ms, counters)).toEqual(pace);
  });

  it('takes at most half a percent of a core while nothing happens, up to the cost where a second allows no more', () => {
    for (let cost_ms = 0.1; cost_ms < 20; cost_ms += 0.1)
      expect(cost_ms / calm(cost_ms, true).rest_ms).toBeLessThan(0.005_01);
    for (let cost_ms = 0.1; cost_ms < 4.7; cost_ms += 0.1)
      expect(cost_ms / calm(cost_ms, false).rest_ms).toBeLessThan(0.005_01);
  });

  it('sees a change within a second, whatever a scan costs', () => {
    for (let cost_ms = 0.1; cost_ms < 1_000; cost_ms *= 2) {
      for (const counters of [true, false]) {
        const { glance_ms, gap_ms } = calm(cost_ms, counters);
        expect(Math.max(glance_ms, gap_ms)).toBeLessThan(1_000);
      }
    }
  });

  it('scans sooner again right after a port changed', () => {
    const costs = { idleCost_ms: 3, lastCost_ms: 15, counters: true, attentive: false };
    expect(toScanPace({ ...costs, lively: false }).gap_ms).toBe(600);
    expect(toScanPace({ ...costs, lively: true }).gap_ms).toBe(300);
  });

  it('takes at most a twentieth of a core for the search after changes, up to the cost where a second allows no more', () => {
    for (let lastCost_ms = 1; lastCost_ms < 37; lastCost_ms += 1) {
      const { gap_ms } = toScanPace({ idleCost_ms: 0.5, lastCost_ms, counters: true, lively: true, attentive: false });
      expect(lastCost_ms / gap_ms).toBeLessThan(0.050_1);
    }
  });

  it('looks more often while somebody waits, at a tenth of a core at most', () => {
    for (let cost_ms = 0.1; cost_ms < 75; cost_ms += 1) {
      for (const counters of [true, false]) {
        const pace = toScanPace({
          idleCost_ms: cost_ms,
          lastCost_ms: cost_ms,
          counters,
          lively: false,
          attentive: true,
        });
        expect(pace.glance_ms).toBe(50);
        expect(pace.gap_ms).toBeLessThanOrEqual(calm(cost_ms, counters).gap_ms);
        expect(cost_ms / pace.gap_ms).toBeLessThan(0.100_1);
      }
    }
  });
});

it('isScanDue asks for the gap after a change and for the rest without one', () => {
  const pace = { glance_ms: 250, gap_ms: 500, rest_ms: 2_000 };
  expect([499, 500].map((since) => isScanDue(pace, since, true))).toEqual([false, true]);
  expect([1_999, 2_000].map((since) => isScanDue(pace, since, false))).toEqual([false, true]);
});

it('smoothCost goes up quickly and comes down slower', () => {
  expect(smoothCost(undefined, 3)).toBe(3);
  expect(smoothCost(2, 4)).toBe(3);
  expect(smoothCost(4, 2)).toBe(3.5);
});
