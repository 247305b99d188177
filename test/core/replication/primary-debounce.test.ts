import { describe, expect, it } from 'vitest';
import { createPrimaryDebounce, type PrimaryChange } from '../../../src/core/replication/primary-debounce.ts';
import type { Primary } from '../../../src/core/replication/primary-status.ts';

const self: Primary = { type: 'self' };
const a: Primary = { type: 'remote', hostname: 'a' };
const b: Primary = { type: 'remote', hostname: 'b' };
const unknown: Primary = { type: 'unknown' };

type Observation = readonly [at_ms: number, primary: Primary];

/** Plays observations in order, telling whatever falls due in between, up to `end_ms`. */
function play(observations: readonly Observation[], end_ms: number): (PrimaryChange & { at_ms: number })[] {
  const debounce = createPrimaryDebounce();
  const told: (PrimaryChange & { at_ms: number })[] = [];
  let now_ms = 0;
  const runTo = (target_ms: number) => {
    for (;;) {
      const change = debounce.takeChange(now_ms);
      if (change !== undefined) told.push({ ...change, at_ms: now_ms });
      const pending_ms = debounce.pending_ms(now_ms);
      if (pending_ms === undefined || now_ms + pending_ms > target_ms) break;
      now_ms += pending_ms;
    }
    now_ms = target_ms;
  };
  for (const [at_ms, primary] of observations) {
    runTo(at_ms);
    debounce.observe(primary, at_ms);
  }
  runTo(end_ms);
  return told;
}

function pairs(from_ms: number, count: number, first: Primary, second: Primary, apart_ms: number): Observation[] {
  return Array.from({ length: count }, (_, i): Observation[] => [
    [from_ms + i * 1_000, first],
    [from_ms + i * 1_000 + apart_ms, second],
  ]).flat();
}

describe('changes of the primary that are worth telling', () => {
  it('tells how the node was found', () => {
    expect(play([[0, self]], 10_000)).toEqual([{ from: unknown, to: self, at_ms: 500 }]);
  });

  it('tells a change that lasted, once', () => {
    const told = play(
      [
        [0, a],
        [10_000, self],
        [60_000, self],
      ],
      120_000,
    );
    expect(told.map(({ to, at_ms }) => [to, at_ms])).toEqual([
      [a, 500],
      [self, 10_500],
    ]);
  });

  it.each([
    { name: 'the unreachable primary is looked for once a second', first: unknown, second: a, apart_ms: 3, tells: [] },
    { name: 'and given up at once each time', first: a, second: unknown, apart_ms: 3, tells: [unknown] },
    { name: 'or given up half a second later', first: unknown, second: a, apart_ms: 499, tells: [] },
    { name: 'or a little later', first: unknown, second: a, apart_ms: 600, tells: [unknown] },
    { name: 'another one is named', first: unknown, second: b, apart_ms: 3, tells: [b] },
  ])('tells at most one for pairs of a minute: $name', ({ first, second, apart_ms, tells }) => {
    const told = play([[0, a], ...pairs(40_000, 60, first, second, apart_ms)], 100_000);
    expect(told.map(({ to }) => to)).toEqual([a, ...tells]);
  });

  it('tells the end of a minute of pairs, when it is another than the beginning', () => {
    const told = play([[0, self], ...pairs(40_000, 60, unknown, a, 3)], 120_000);
    expect(told.map(({ to }) => to)).toEqual([self, a]);
  });

  it('tells a second change soon after the first only when it lasts longer than the second between two pairs', () => {
    const told = play(
      [
        [0, a],
        [40_000, b],
        [42_000, a],
        [44_000, b],
        [46_000, unknown],
      ],
      60_000,
    );
    expect(told.map(({ to, at_ms }) => [to, at_ms])).toEqual([
      [a, 500],
      [b, 40_500],
      [unknown, 49_000],
    ]);
  });

  it('forgets a change that was taken back', () => {
    expect(
      play(
        [
          [0, a],
          [10_000, unknown],
          [10_200, a],
        ],
        60_000,
      ),
    ).toHaveLength(1);
  });
});
