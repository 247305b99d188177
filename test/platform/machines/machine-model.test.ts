// The moves of a machine under random operations, crashes of the platform between any two steps, and a driver that fails, hangs and loses
// machines: after each step its record, its driver and those who wait for it agree.
import { expect, test } from 'vitest';
import { runModel } from '../../support/machine-model/run-many.ts';

test('record, driver and waiters agree after any operations, crashes and faults', async () => {
  const wrong = await runModel({ runs: 100, atOnce: 50 });
  if (wrong !== undefined) expect.fail(wrong);
}, 180_000);
