// The model of a machine for longer: see test/platform/machines/machine-model.test.ts.
import { expect, test } from 'vitest';
import { randomHex } from '../../src/core/urandom.ts';
import { runModel } from '../support/machine-model/run-many.ts';

test('record, driver and waiters agree in thousands of runs', async () => {
  const wrong = await runModel({ seeds: Array.from({ length: 4_000 }, () => randomHex(4)), atOnce: 100 });
  if (wrong !== undefined) expect.fail(wrong);
});
