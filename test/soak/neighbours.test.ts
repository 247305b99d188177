// One organization cannot hurt another one on the same platform: what its neighbour does, in whatever quantity, is not to be noticed in
// the time that its own calls take.
import { Agent, createServer, type Agent as HttpAgent, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { startChild } from '../support/child-lines.ts';
import { startTenants, type Tenants } from '../support/tenants.ts';

const attacks = [
  'expensive targets',
  'informational answers',
  'answers in chunks of one byte',
  'answers that nobody reads',
  'answers with endless usage',
  'bodies that do not come',
  'bodies in chunks of one byte',
  'calls from 64 connections',
  'calls one behind the other',
  'wrong tokens from 64 connections',
] as const;

/** Enough that a single delay of the machine is not the 99th percentile. */
const CALLS = 300;
/** Times the quiet value, and the least that counts. */
const MOST = 5;
const FLOOR_MS = 20;
/** A machine that is busy with something else is not the neighbour's doing: one of so many rounds has to hold. */
const ROUNDS = 3;

async function openProvider(): Promise<string> {
  const server = createServer((_request, response) => response.end('ok'));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function call(tenants: Tenants, agent: HttpAgent): Promise<number> {
  const [, { prefix, token }] = tenants.tenants;
  const headers = { authorization: `Bearer ${token}` };
  const begun_ms = performance.now();
  return new Promise((resolve, reject) => {
    const asked = request(`${tenants.url}${prefix}/x`, { agent, headers }, (answer) => {
      if (answer.statusCode !== 200) reject(new Error(`the neighbour got ${answer.statusCode}`));
      answer.resume().once('end', () => resolve(performance.now() - begun_ms));
    });
    asked.once('error', reject).end();
  });
}

/** The 99th percentile of calls that are made one after the other. */
async function measure_ms(tenants: Tenants, agent: HttpAgent): Promise<number> {
  const times: number[] = [];
  for (let made = 0; made < CALLS; made += 1) times.push(await call(tenants, agent));
  return times.sort((one, other) => one - other)[Math.ceil(CALLS * 0.99) - 1] ?? Number.NaN;
}

it('the calls of an organization take as long as ever, whatever another one does', { timeout: 180_000 }, async () => {
  const hostile = startChild(process.execPath, [new URL('../support/hostile-child.ts', import.meta.url).pathname]);
  const origin = await hostile.line(/^http/);
  const tenants = await startTenants([origin, await openProvider()]);
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  onTestFinished(() => agent.destroy());
  await measure_ms(tenants, agent);
  let quiet_ms = await measure_ms(tenants, agent);
  const slow: string[] = [];
  for (const attack of attacks) {
    const rounds: string[] = [];
    for (;;) {
      hostile.say(JSON.stringify({ attack, port: tenants.port, ...tenants.tenants[0] }));
      await hostile.line(/^attacking/);
      const attacked_ms = await measure_ms(tenants, agent);
      if (attacked_ms <= Math.max(FLOOR_MS, MOST * quiet_ms)) break;
      rounds.push(`${attacked_ms.toFixed(1)} ms where ${quiet_ms.toFixed(1)} ms are quiet`);
      if (rounds.length >= ROUNDS) {
        slow.push(`${attack}: ${rounds.join(', ')}`);
        break;
      }
      hostile.say(JSON.stringify({ attack: 'none', port: tenants.port, ...tenants.tenants[0] }));
      await hostile.line(/^attacking/);
      quiet_ms = await measure_ms(tenants, agent);
    }
  }
  expect(slow).toEqual([]);
});
