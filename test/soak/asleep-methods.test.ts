// Every method of `@fly/sprites` against a machine that is suspended, and one that is stopped.
import { expect, test } from 'vitest';
import { startDev } from '../support/dev-process.ts';
import { allSteps } from '../support/sdk/all-steps.ts';
import { driveAsleep } from '../support/sdk/drive-asleep.ts';
import { tempDir } from '../support/temp-dir.ts';

test('every method works with a machine that sleeps', { timeout: 1_800_000 }, async () => {
  await using dev = await startDev({ dir: tempDir() });
  const { passed, failures } = await driveAsleep(dev, { isChosen: () => true, judgeAsked: () => undefined });
  const rows = 2 * Object.keys(allSteps).length;
  process.stdout.write(`@fly/sprites asleep: ${passed.length} of ${rows} rows passed\n`);
  expect(failures).toEqual({});
});
