// The channel of a real machine with a real agent: opened at the start, gone while the machine stands still, and there again after a
// resume, a restart of the platform and the end of the agent.
import { expect, test } from 'vitest';
import { openAgentMachine } from '../support/agent-machine.ts';

test('opens with the first report, with the nonce of the incarnation', async () => {
  const { channel } = await openAgentMachine();
  expect(await channel()).toMatchObject({ state: 'open', opened: 1, since: expect.any(String) });
});

test('is dialled again after a suspend and a resume', async () => {
  const { channel, post, wait } = await openAgentMachine();
  await channel();
  expect((await post('suspend')).status).toBe(200);
  expect((await wait('state=suspended')).status).toBe(200);
  expect((await post('start')).status).toBe(200);
  expect(await channel(2)).toMatchObject({ state: 'open' });
});

test('is dialled again when the platform comes back', async () => {
  const { channel, restart } = await openAgentMachine({ endMachines: false });
  await channel();
  await restart();
  expect(await channel(2)).toMatchObject({ state: 'open' });
});

test('is refused to the token of the sprite, and without the nonce', async () => {
  const { dial, spriteToken, machineToken, channel, identity } = await openAgentMachine();
  await channel();
  expect(await dial(await spriteToken(), {})).toBe(403);
  expect(await dial(machineToken(), await identity())).toBe(409);
  expect(await dial(machineToken(), {})).toBe(503);
  expect(await dial(machineToken(), { ...(await identity()), 'remora-nonce': 'A'.repeat(43) })).toBe(409);
  expect(await channel()).toMatchObject({ state: 'open', opened: 1 });
});
