// The channel of a real machine once the token of its agent has ended, and what keeps it.
import { expect, test } from 'vitest';
import type { TokenRow } from '../../src/platform/tokens/token-store.ts';
import { openAgentMachine } from '../support/agent-machine.ts';
import { eventually } from '../support/eventually.ts';

type Machine = Awaited<ReturnType<typeof openAgentMachine>>;

async function revoke({ platform }: Machine, isMeant: (token: TokenRow) => boolean) {
  const meant = (await platform.admin.listTokens('acme')).filter(isMeant);
  for (const { id } of meant) await platform.admin.revokeToken('acme', id);
  return meant.length;
}

/** Resolves once open calls have been looked at again: a stream is ended whose token is revoked here. */
async function untilLookedAgain(machine: Machine): Promise<void> {
  const { platform } = machine;
  const token = await platform.admin.createToken({ organization: 'acme', name: 'sentinel' });
  const headers = { authorization: `Bearer ${token.reveal()}`, accept: 'application/x-ndjson' };
  const answer = await fetch(`${platform.url}/v1/sprites`, { headers });
  expect(await revoke(machine, ({ name }) => name === 'sentinel')).toBe(1);
  expect(await answer.text()).toContain('"error":"unauthorized"');
}

test('is closed with the reason when the token of the machine is revoked, and the next dial is a 401', async () => {
  const machine = await openAgentMachine({ trustMachines: true });
  const { platform, channel, status, dial, machineToken, id } = machine;
  await channel();
  const token = machineToken();
  expect(await revoke(machine, ({ machine_id }) => machine_id === id)).toBe(1);
  const reason = 'the token is not valid any more';
  await eventually(() => platform.log.some((line) => line.machine === id && line.reason === reason));
  await eventually(async () => (await status()).details.channel.state !== 'open' || undefined);
  expect(await dial(token, {})).toBe(401);
});

test('stays open after a boot, which revokes the token of the boot before, and while other tokens end', async () => {
  const machine = await openAgentMachine({ trustMachines: true });
  const { channel, post, spriteToken, machineToken, dial } = machine;
  await channel();
  const before = machineToken();
  expect((await post('restart')).status).toBe(200);
  expect(machineToken().reveal()).not.toBe(before.reveal());
  expect(await dial(before, {})).toBe(401);
  const { since } = await channel();
  await spriteToken();
  expect(await revoke(machine, ({ sprite_id, machine_id }) => sprite_id !== null && machine_id === null)).toBe(1);
  await untilLookedAgain(machine);
  await untilLookedAgain(machine);
  expect(await channel()).toMatchObject({ state: 'open', since, opened: 1 });
});
