// The moves of a machine under random operations, crashes of the platform between any two steps, and a driver that fails, hangs and loses
// machines: after each step its record, its driver and those who wait for it agree.
import { expect, test } from 'vitest';
import { createDice } from '../../support/dice.ts';
import type { Plan } from '../../support/machine-model/model-plan.ts';
import { runModel, runPlans } from '../../support/machine-model/run-many.ts';

test('record, driver and waiters agree after any operations, crashes and faults', async () => {
  const dice = createDice('5eed0001');
  const seeds = Array.from({ length: 100 }, () => dice.below(2 ** 32).toString(16));
  const wrong = await runModel({ seeds, atOnce: 50 });
  if (wrong !== undefined) expect.fail(wrong);
}, 180_000);

test('a machine that ends by itself before the next platform has let it go on after its freeze stays ended', async () => {
  const fault = { call: 'suspend', kind: 'hang' } as const;
  const steps: Plan['steps'] = [{ ask: ['start'] }, { ask: ['suspend'], fault }, { ask: ['end'] }];
  const plans = Array.from({ length: 20 }, (_, index): Plan => ({ seed: `end ${index}`, steps }));
  const wrong = await runPlans(plans, plans.length);
  if (wrong !== undefined) expect.fail(wrong);
}, 120_000);
