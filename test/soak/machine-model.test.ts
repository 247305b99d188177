// The model of a machine for longer: see test/platform/machines/machine-model.test.ts.
import { expect, test } from 'vitest';
import { runModel } from '../support/machine-model/run-many.ts';

test('record, driver and waiters agree in thousands of runs', async () => {
  const wrong = await runModel({ runs: 4_000, atOnce: 100 });
  if (wrong !== undefined) expect.fail(wrong);
});
