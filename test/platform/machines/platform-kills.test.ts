// The platform killed at each step of each move, one after the other: what was asked for is done whole or not at all, an update leaves the
// old version running or the new one, and record and driver agree under the next platform.
import { expect, test } from 'vitest';
import type { Plan, Word } from '../../support/machine-model/model-plan.ts';
import { runPlans } from '../../support/machine-model/run-many.ts';

/** More steps than any of them has; a cut that nothing meets is none. */
const STEPS = 48;

test.each([
  ['update', ['start']],
  ['update', ['start', 'suspend']],
  ['restart', ['start']],
  ['restart', ['start', 'suspend']],
  ['start', []],
  ['start', ['start', 'suspend']],
  ['suspend', ['start']],
  ['stop', ['start']],
  ['stop', ['start', 'suspend']],
  ['discard', ['start', 'suspend']],
  ['destroy', ['start']],
  ['drain', ['start']],
] as const)(
  '%s, after %j',
  async (word: Word, before: readonly Word[]) => {
    const plans = Array.from({ length: STEPS }, (_, index): Plan => {
      const steps = before.map((each) => ({ ask: [each] }));
      const cut = { at: index + 1, meanwhile: 'nothing' } as const;
      return { seed: `${word} cut at ${cut.at}`, steps: [...steps, { ask: [word], cut }] };
    });
    const wrong = await runPlans(plans, STEPS);
    if (wrong !== undefined) expect.fail(wrong);
  },
  120_000,
);
