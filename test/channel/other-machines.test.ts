// Whose channel a machine may open: its own, as the incarnation that is served. Calls for a sprite go to the machine of that sprite only.
import { expect, test } from 'vitest';
import { type PlayedMachine, startChannelTenants } from '../support/channel-tenants.ts';
import { dialAs, reportMachine } from '../support/dial-as.ts';
import { openHostileMachine } from '../support/hostile-machine.ts';
import { openPlayedAgent } from '../support/played-agent.ts';

async function openBoth() {
  const { url, hostile, neighbour, line } = await startChannelTenants(2);
  const [own, sibling] = hostile.machines as [PlayedMachine, PlayedMachine];
  const [other] = neighbour.machines as [PlayedMachine];
  const statusOf = (machine: PlayedMachine, identity: Record<string, string>) =>
    dialAs(url, machine, identity).then(
      (socket) => {
        socket.destroy();
        return 101;
      },
      ({ status }: { status: number }) => status,
    );
  const refused = async (id: string) => JSON.parse(await line(new RegExp(`"channel_refused","machine":"${id}"`)));
  return { url, own, sibling, other, neighbour, statusOf, refused };
}

test('the token of one machine opens no channel of another, and the audit says so', async () => {
  const { url, own, sibling, other, statusOf, refused } = await openBoth();
  const identity = await reportMachine(url, own);
  for (const victim of [sibling, other]) {
    const theirs = await reportMachine(url, victim);
    expect(await statusOf({ ...victim, token: own.token }, identity)).toBe(403);
    expect(await refused(victim.id)).toMatchObject({ code: 'forbidden', token: expect.any(String) });
    // The token decides, also with the incarnation and the nonce of the victim.
    expect(await statusOf({ ...victim, token: own.token }, theirs)).not.toBe(101);
    expect(await statusOf({ ...victim, app: own.app, token: own.token }, identity)).toBe(403);
  }
  expect(await statusOf(own, identity)).toBe(101);
});

test('an older generation, another incarnation and an old nonce open none', async () => {
  const { url, own, statusOf, refused } = await openBoth();
  const first = await reportMachine(url, own, 1);
  expect(await statusOf(own, first)).toBe(101);
  const second = await reportMachine(url, own, 2);
  expect(await statusOf(own, first)).toBe(409);
  expect(await refused(own.id)).toMatchObject({ code: 'rewound', token: expect.any(String) });
  const withOldNonce = { ...second, 'remora-nonce': first['remora-nonce'] };
  // It counts as none until the new one has come.
  expect(await statusOf(own, withOldNonce)).toBe(503);
  expect(await statusOf(own, { ...second, 'remora-generation': '1' })).toBe(409);
  expect(await statusOf(own, { ...second, 'remora-incarnation': 'ab'.repeat(16) })).toBe(409);
  expect(await refused(own.id)).toMatchObject({ code: 'rewound' });
  const conflict = await refused(own.id);
  expect(conflict).toMatchObject({ code: 'incarnation_conflict' });
  expect(JSON.stringify(conflict)).not.toContain(second['remora-nonce']);
  expect(await statusOf(own, second)).toBe(101);
  expect(await statusOf(own, withOldNonce)).toBe(409);
  expect(await refused(own.id)).toMatchObject({ code: 'incarnation_conflict' });
});

test('a machine gets the calls of its own sprite only, whatever it sends', async () => {
  const { url, own, other, neighbour } = await openBoth();
  const hostile = await openHostileMachine(url, own);
  await openPlayedAgent(url, other);
  let taken = 0;
  void hostile.stream().then(() => {
    taken += 1;
  });
  for (let count = 0; count < 20; count += 1) {
    const headers = { authorization: `Bearer ${neighbour.token}` };
    const answer = await fetch(`${url}/v1/sprites/${other.sprite}/services`, { headers });
    expect([answer.status, await answer.json()]).toEqual([200, []]);
  }
  expect(taken).toBe(0);
});
