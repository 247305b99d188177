// The storm of ports for a minute and with its cost: a thousand short-lived listeners a second beside a daemon that watches.
import { expect, test } from 'vitest';
import { readCpu_ms } from '../bench/process-cost.ts';
import { startAgent } from '../support/agent-process.ts';
import { startListenerProcess } from '../support/listener-process.ts';
import { readLines } from '../support/read-lines.ts';

const ROUNDS = 60;
const PER_ROUND = 1_000;
const ROUND_MS = 1_000;
/** The pace allows a twentieth of a core after changes, and telling them comes on top. Measured: a fortieth in all. */
const SHARE = 0.1;

test('a thousand listeners that come and go each second cost little and end with the storm', async () => {
  const [agent, child] = await Promise.all([startAgent(), startListenerProcess()]);
  const lasting = await child.listen();
  const pid = agent.child.pid ?? 0;
  const seq = async () => {
    const reader = await readLines('/v1/events', agent.socket);
    const { seq: last } = await reader.next();
    reader.close();
    return Number(last);
  };
  const ports = async () => (await agent.get('/v1/ports')).json as { ports: { port: number; pid: number }[] };
  await expect.poll(async () => (await ports()).ports.map(({ port }) => port)).toContain(lasting);
  const [before_ms, begun_ms, first] = [readCpu_ms(pid), performance.now(), await seq()];
  for (let round = 0; round < ROUNDS; round += 1) {
    const until_ms = begun_ms + (round + 1) * ROUND_MS;
    await child.flap(PER_ROUND, 20);
    await new Promise((resolve) => setTimeout(resolve, Math.max(0, until_ms - performance.now())));
  }
  const took_ms = performance.now() - begun_ms;
  expect((readCpu_ms(pid) - before_ms) / took_ms).toBeLessThan(SHARE);
  expect((await seq()) - first).toBeLessThan((took_ms / 250) * 40);
  await expect
    .poll(async () => (await ports()).ports.filter((open) => open.pid === child.pid).map(({ port }) => port))
    .toEqual([lasting]);
});
