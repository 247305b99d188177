// A machine whose root floods its channel cannot hurt another organization: the calls inside the sprites of its neighbour take as long
// as ever.
import { Agent, request } from 'node:http';
import { expect, it, onTestFinished } from 'vitest';
import { type PlayedMachine, startChannelTenants } from '../support/channel-tenants.ts';
import { startChild } from '../support/child-lines.ts';
import { openPlayedAgent } from '../support/played-agent.ts';

const attacks = [
  'SETTINGS without end',
  'PING without end',
  'RST_STREAM without end',
  'heads of 16 KB without end',
  'informational heads without end',
  'DATA frames of one byte',
  'chunks of one byte in DATA frames of one byte',
  'chunks of one byte',
  'informational answers without end',
  'header blocks without end',
] as const;

/** Each round of each attack has its own: a machine whose channel was cut gets the next one later. */
const MACHINES = 10;
/** Enough that a single delay of the machine is not the 99th percentile. */
const CALLS = 300;
/** Times the quiet value, and the least that counts. */
const MOST = 5;
const FLOOR_MS = 20;
/** A machine that is busy with something else is not the neighbour's doing: one of so many rounds has to hold. */
const ROUNDS = 3;

it('the calls of a neighbour take as long as ever, whatever comes over a channel', { timeout: 600_000 }, async () => {
  const script = new URL('../support/hostile-channel-child.ts', import.meta.url).pathname;
  const hostile = startChild(process.execPath, [script]);
  await hostile.line(/^ready/);
  const { url, hostile: tenant, neighbour } = await startChannelTenants(attacks.length * ROUNDS * MACHINES);
  await openPlayedAgent(url, neighbour.machines[0] as PlayedMachine);
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  onTestFinished(() => agent.destroy());
  const headers = { authorization: `Bearer ${neighbour.token}` };
  const call = () =>
    new Promise<number>((resolve, reject) => {
      const begun_ms = performance.now();
      const asked = request(`${url}/v1/sprites/m-0/services`, { agent, headers }, (answer) => {
        if (answer.statusCode !== 200) reject(new Error(`the neighbour got ${answer.statusCode}`));
        answer.resume().once('end', () => resolve(performance.now() - begun_ms));
      });
      asked.once('error', reject).end();
    });
  /** The 99th percentile of calls that are made one after the other. */
  const measure_ms = async () => {
    const times: number[] = [];
    for (let made = 0; made < CALLS; made += 1) times.push(await call());
    return times.sort((one, other) => one - other)[Math.ceil(CALLS * 0.99) - 1] ?? Number.NaN;
  };
  const begin = async (attack: string, machines: readonly PlayedMachine[]) => {
    hostile.say(JSON.stringify({ attack, url, token: tenant.token, machines }));
    await hostile.line(/^attacking/);
  };
  await measure_ms();
  let quiet_ms = await measure_ms();
  const slow: string[] = [];
  for (const [index, attack] of attacks.entries()) {
    const rounds: string[] = [];
    while (rounds.length < ROUNDS) {
      const first = (index * ROUNDS + rounds.length) * MACHINES;
      await begin(attack, tenant.machines.slice(first, first + MACHINES));
      const attacked_ms = await measure_ms();
      if (attacked_ms <= Math.max(FLOOR_MS, MOST * quiet_ms)) break;
      rounds.push(`${attacked_ms.toFixed(1)} ms where ${quiet_ms.toFixed(1)} ms are quiet`);
      await begin('none', []);
      quiet_ms = await measure_ms();
    }
    if (rounds.length >= ROUNDS) slow.push(`${attack}: ${rounds.join(', ')}`);
  }
  expect(slow).toEqual([]);
});
