// Random policies one after the other, through the kernel, beside a model. The seed is said; REMORA_FUZZ_SEED runs it again.
import { describe, expect, test } from 'vitest';
import { randomHex } from '../../src/core/urandom.ts';
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
    const { allowed, refused } = await opened().run(process.env.REMORA_FUZZ_SEED ?? randomHex(4), STEPS);
    expect(allowed + refused).toBeGreaterThan(STEPS);
  });
});
