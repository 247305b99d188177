// Random policies one after the other, through the kernel, beside a model: the same in each run. test/soak draws others.
import { describe, expect, test } from 'vitest';
import { openOnce } from '../support/at-end.ts';
import { openPolicyWalk } from '../support/network/walk-policies.ts';
import { isWithoutNetworks } from '../support/network-world.ts';

const STEPS = 15;

describe.skipIf(isWithoutNetworks())('through the kernel', () => {
  const opened = openOnce(openPolicyWalk);

  test('a walk meets everything that can come of a policy', async () => {
    const counts = await opened().run('5eed0001', STEPS);
    expect(Object.entries(counts).filter(([, count]) => count === 0)).toEqual([]);
  });

  test('names, addresses and connections are as in the model, whatever policy follows another', async () => {
    const { allowed, refused } = await opened().run(process.env.REMORA_FUZZ_SEED ?? '5eed0002', STEPS);
    expect(allowed + refused).toBeGreaterThan(STEPS);
  });
});
