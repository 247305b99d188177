// Many random network policies through the kernel, beside a model: as in test/network/policy-walk.test.ts, for longer.
import { expect, test } from 'vitest';
import { randomHex } from '../../src/core/urandom.ts';
import { openPolicyWalk } from '../support/network/walk-policies.ts';
import { isWithoutNetworks } from '../support/network-world.ts';

const WALKS = 20;
const STEPS = 100;

test.skipIf(isWithoutNetworks())('every policy after every other is as in the model', async () => {
  const walk = await openPolicyWalk();
  for (let count = 0; count < WALKS; count += 1) {
    const { kept, ended } = await walk.run(process.env.REMORA_FUZZ_SEED ?? randomHex(4), STEPS);
    expect(kept + ended).toBeGreaterThan(0);
  }
});
