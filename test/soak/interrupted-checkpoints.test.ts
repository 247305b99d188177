// Checkpoints that are interrupted in their middle: by the end of the platform, and by a suspend of the machine that is asked for meanwhile.
import { expect, test } from 'vitest';
import { makeCheckpoint, restoreCheckpoint } from '../support/interrupted/checkpoint-operations.ts';
import { type Fault, platformKill } from '../support/interrupted/faults.ts';
import { interruptAll } from '../support/interrupted/interrupt-all.ts';
import { openKillablePlatform } from '../support/killable-platform.ts';

const LIMIT_MS = 240_000;

/** It waits for the step of the checkpoint that stands still, or is refused while the machine is stopped for a restore. */
const suspendMeanwhile: Fault = {
  fault: 'a suspend is asked for',
  toInterruption: ({ machine }) => ({
    async cut() {
      expect([200, 409]).toContain((await machine('POST', '/suspend')).status);
    },
    async back() {
      expect((await machine('POST', '/start')).status).toBe(200);
    },
    isMachineAwake: false,
    ending_ms: 120_000,
  }),
  ending: /^whole$/,
};

const rows = [platformKill, suspendMeanwhile].flatMap((fault) =>
  [makeCheckpoint, restoreCheckpoint].map((operation) => ({ ...fault, operation, name: operation.name })),
);

test.each(rows)('$fault in the middle of $name', { timeout: LIMIT_MS }, async ({ operation, ...fault }) => {
  const platform = await openKillablePlatform();
  const outcomes = await interruptAll(platform, [operation], fault.toInterruption(platform));
  const { ending = '', left, again } = outcomes.get(operation.name) ?? {};
  expect(left).toBeUndefined();
  expect(again).toBeUndefined();
  if (ending !== 'whole') expect(ending).toMatch(fault.ending);
});
