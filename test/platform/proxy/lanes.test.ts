// A busy port of a machine behind the proxy: its requests go over connections of their own, which end with the machine.
import { expect, test } from 'vitest';
import { openOnce } from '../../support/at-end.ts';
import { eventually } from '../../support/eventually.ts';
import { openProxiedMachine } from '../../support/proxied-machine.ts';

const opened = openOnce(openProxiedMachine);
const HELD = 20;

/** Enough at once that lanes are opened for them. */
async function makeBusy(): Promise<void> {
  const { ask } = opened();
  const drive = async () => {
    for (let count = 0; count < 10; count += 1) {
      expect((await ask({ path: '/bytes?size=3000' })).text).toHaveLength(3_000);
    }
  };
  await Promise.all(Array.from({ length: 32 }, drive));
}

test('requests to a busy port take no streams of the channel, and a stop of the machine ends them', async () => {
  const { ask, machine } = opened();
  const streams = async () => (await machine.status()).details.channel.streams as number;
  const open = 'remora_platform_lanes{kind="ports"}';
  const openings = 'remora_platform_lane_openings_total{kind="ports",result="opened"}';
  const figure = async (name: string) => {
    const { text } = await machine.platform.call({ path: '/metrics', token: undefined });
    return Number(
      text
        .split('\n')
        .find((line) => line.startsWith(`${name} `))
        ?.split(' ')[1],
    );
  };
  const held = await eventually(async () => {
    await makeBusy();
    const answers = Array.from({ length: HELD }, () =>
      ask({ path: '/hold', method: 'POST' }).then(
        ({ status, text }) => `${status} ${text}`,
        () => 'broken off',
      ),
    );
    await eventually(async () => JSON.parse((await ask({ path: '/arrivals' })).text).open.held === HELD);
    try {
      // The streams of earlier requests are kept for four seconds.
      await eventually(async () => (await streams()) < HELD, 8_000);
      return answers;
    } catch {
      await ask({ path: '/let-go' });
      await Promise.all(answers);
      return undefined;
    }
  });
  const lanes = await figure(open);
  expect(lanes).toBeGreaterThan(0);
  expect(await figure(openings)).toBeGreaterThanOrEqual(lanes);
  expect(await figure('remora_platform_lanes{kind="files"}')).toBe(0);
  expect(await figure('remora_platform_channels')).toBe(1);
  expect((await machine.post('stop')).status).toBe(200);
  for (const answer of await Promise.all(held)) expect(answer).toMatch(/^(?:50[234] |broken off$)/);
  await eventually(async () => (await figure(open)) === 0);
  expect(await figure(openings)).toBeGreaterThanOrEqual(lanes);
  await eventually(async () => (await ask({})).status === 200);
  await makeBusy();
});
