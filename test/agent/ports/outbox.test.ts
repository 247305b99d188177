import { once } from 'node:events';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { Secret } from '../../../src/core/secret.ts';
import { startChild } from '../../support/child-lines.ts';
import { makeProc } from '../../support/fake-proc.ts';
import { openFreePort } from '../../support/free-port.ts';
import { startListenerProcess } from '../../support/listener-process.ts';
import { type NoticePlatform, openNoticePlatform } from '../../support/notice-platform.ts';
import { type PortsAgent, startPortsAgent } from '../../support/ports-agent.ts';
import { tempDir } from '../../support/temp-dir.ts';

function startFor(platform: NoticePlatform, stateDir = tempDir()): Promise<PortsAgent> {
  const config = { baseUrl: platform.url, token: new Secret('sprite-token'), period_ms: 50 };
  return startPortsAgent({ config, stateDir });
}

const soon = { timeout: 60_000 };

describe('the outbox', () => {
  it('tells the platform what opens and closes, in order, with the credential of the sprite', async () => {
    const [platform, child] = await Promise.all([openNoticePlatform(), startListenerProcess()]);
    const agent = await startFor(platform);
    const port = await child.listen();
    await expect.poll(() => platform.told(port), soon).toEqual([`+${port}`]);
    await child.close(port);
    await expect.poll(() => platform.told(port), soon).toEqual([`+${port}`, `-${port}`]);
    expect(platform.arrived.find((notice) => notice.port === port)).toEqual({
      id: expect.stringMatching(/^[0-9a-f]{32}$/),
      type: 'port_opened',
      port,
      address: `http://dev-1:${port}`,
      pid: child.pid,
      time: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
    });
    expect(platform.requests[0]).toMatchObject({
      target: 'POST /v1/sprites/dev-1/ports/notices',
      authorization: 'Bearer sprite-token',
    });
    expect(agent.board.statuses().notices).toMatchObject({ state: 'ok' });
    await expect.poll(() => agent.ports.status().notices?.depth, soon).toBe(0);
  });

  it('keeps notices while the platform is down, says so, and brings each once it is up', async () => {
    const [platform, child] = await Promise.all([openNoticePlatform('down'), startListenerProcess()]);
    const agent = await startFor(platform);
    const first = await child.listen();
    const second = await child.listen();
    const report = () => agent.board.statuses().notices;
    await expect
      .poll(report, soon)
      .toMatchObject({ state: 'degraded', reason: expect.stringContaining('503 not_ready') });
    await expect.poll(() => agent.events.some(({ port }) => port === second), soon).toBe(true);
    await child.close(first);
    await expect.poll(() => agent.events.filter(({ port }) => port === first).length, soon).toBe(2);
    platform.mode = 'up';
    await agent.ports.recover();
    await expect.poll(() => platform.told(first, second), soon).toHaveLength(3);
    expect(platform.told(first)).toEqual([`+${first}`, `-${first}`]);
    expect(platform.told(second)).toEqual([`+${second}`]);
    await expect.poll(report, soon).toMatchObject({ state: 'ok' });
  });

  it('tells of a port that flapped while the platform was down only as much as matters', async () => {
    const [platform, child] = await Promise.all([openNoticePlatform('down'), startListenerProcess()]);
    const agent = await startFor(platform);
    const port = await child.listen({ port: await openFreePort() });
    const seen = () => agent.events.filter((event) => event.port === port).length;
    await expect.poll(seen, soon).toBe(1);
    for (let round = 1; round <= 4; round += 1) {
      await child.close(port);
      await expect.poll(seen, soon).toBe(round * 2);
      await child.listen({ port });
      await expect.poll(seen, soon).toBe(round * 2 + 1);
    }
    platform.mode = 'up';
    await agent.ports.recover();
    await expect.poll(() => platform.told(port), soon).toEqual([`+${port}`, `-${port}`, `+${port}`]);
  });

  it('pauses as long as the platform asks, and a resume ends the pause', async () => {
    const [platform, child] = await Promise.all([openNoticePlatform('busy'), startListenerProcess()]);
    const agent = await startFor(platform);
    await child.listen();
    await expect.poll(() => platform.requests.length, soon).toBeGreaterThanOrEqual(2);
    const [first, second] = platform.requests;
    expect((second?.at_ms ?? 0) - (first?.at_ms ?? 0)).toBeGreaterThan(950);
    const before = platform.requests.length;
    const start_ms = performance.now();
    await agent.ports.recover();
    await expect.poll(() => platform.requests.length, { ...soon, interval: 10 }).toBeGreaterThan(before);
    expect(performance.now() - start_ms).toBeLessThan(30_000);
  });

  it.each([
    ['a token that is refused', 'locked', '401 unauthorized'],
    ['being refused as a copy of the machine', 'fenced', '409 rewound'],
  ] as const)('loses nothing to %s', async (_name, mode, reason) => {
    const [platform, child] = await Promise.all([openNoticePlatform(mode), startListenerProcess()]);
    const agent = await startFor(platform);
    const ports = [await child.listen(), await child.listen()];
    const report = () => agent.board.statuses().notices;
    await expect.poll(report, soon).toMatchObject({ state: 'degraded', reason: expect.stringContaining(reason) });
    platform.mode = 'up';
    await agent.ports.recover();
    await expect.poll(() => platform.told(...ports), soon).toHaveLength(2);
    expect(agent.ports.status().notices).toMatchObject({ set_aside: 0 });
  });

  it('sends nothing before its time after a resume, and ends while it waits', async () => {
    const [platform, child] = await Promise.all([openNoticePlatform(), startListenerProcess()]);
    let time = Promise.withResolvers<void>();
    let waiting = false;
    const mayGoOut = async (signal: AbortSignal) => {
      waiting = true;
      await Promise.race([time.promise, once(signal, 'abort')]);
      waiting = false;
    };
    const config = { baseUrl: platform.url, token: new Secret('sprite-token'), period_ms: 50 };
    const agent = await startPortsAgent({ config, mayGoOut });
    const port = await child.listen();
    await expect.poll(() => agent.events.some((event) => event.port === port), soon).toBe(true);
    await expect.poll(() => waiting, soon).toBe(true);
    expect(platform.requests).toEqual([]);
    time.resolve();
    await expect.poll(() => platform.told(port), soon).toEqual([`+${port}`]);
    time = Promise.withResolvers();
    await child.close(port);
    await expect.poll(() => waiting, soon).toBe(true);
    await agent.stop();
    expect(platform.told(port)).toEqual([`+${port}`]);
  });

  it('sets a notice aside that is refused for itself, says so, and goes on with the others', async () => {
    const [platform, child] = await Promise.all([openNoticePlatform('down'), startListenerProcess()]);
    const agent = await startFor(platform);
    const ports = [await child.listen(), await child.listen(), await child.listen()];
    const [before = 0, refused = 0, after = 0] = ports.sort((a, b) => a - b);
    await expect.poll(() => agent.ports.status().notices?.depth, soon).toBeGreaterThanOrEqual(3);
    platform.pickyAbout = refused;
    platform.mode = 'picky';
    await agent.ports.recover();
    await expect.poll(() => platform.told(before, after), soon).toHaveLength(2);
    expect(platform.told(refused)).toEqual([]);
    await expect.poll(() => agent.ports.status().notices, soon).toMatchObject({ depth: 0, set_aside: 1 });
  });

  it('says when it cannot keep notices, and catches up when it can', async () => {
    const [platform, child] = await Promise.all([openNoticePlatform(), startListenerProcess()]);
    const agent = await startFor(platform);
    const report = () => agent.board.statuses().notices;
    await expect.poll(() => agent.ports.status().scans ?? 0, soon).toBeGreaterThan(0);
    agent.db.pragma('query_only = ON');
    const port = await child.listen();
    await expect
      .poll(report, soon)
      .toMatchObject({ state: 'degraded', reason: expect.stringContaining('cannot be kept') });
    await expect.poll(() => agent.events.some((event) => event.port === port), soon).toBe(true);
    agent.db.pragma('query_only = OFF');
    await expect.poll(() => platform.told(port), soon).toEqual([`+${port}`]);
    await expect.poll(report, soon).toMatchObject({ state: 'ok' });
  });

  it('fails without its tables, and the ports are watched all the same', async () => {
    const [agent, child] = await Promise.all([startPortsAgent({ withoutTables: true }), startListenerProcess()]);
    const port = await child.listen();
    await expect.poll(() => agent.events.some((event) => event.port === port), soon).toBe(true);
    expect(agent.board.statuses().notices).toMatchObject({
      state: 'failed',
      reason: expect.stringContaining('no such table'),
    });
  });

  it('is off without a platform, and the ports are watched all the same', async () => {
    const [agent, child] = await Promise.all([startPortsAgent(), startListenerProcess()]);
    const port = await child.listen();
    await expect.poll(() => agent.events.some((event) => event.port === port), soon).toBe(true);
    expect(agent.board.statuses().notices).toMatchObject({ state: 'off' });
    expect(agent.ports.status().notices).toMatchObject({ depth: 0 });
  });
});

describe('a restart of the agent', () => {
  it('tells what closed, opened and stayed meanwhile, once each', async () => {
    const [platform, child] = await Promise.all([openNoticePlatform(), startListenerProcess()]);
    const stateDir = tempDir();
    const [stays, closes] = [await child.listen(), await child.listen()];
    const first = await startFor(platform, stateDir);
    await expect.poll(() => platform.told(stays, closes), soon).toHaveLength(2);
    await first.stop();
    await child.close(closes);
    const opens = await child.listen();
    const second = await startFor(platform, stateDir);
    await expect.poll(() => platform.told(opens), soon).toEqual([`+${opens}`]);
    expect(platform.told(closes)).toEqual([`+${closes}`, `-${closes}`]);
    expect(platform.told(stays)).toEqual([`+${stays}`]);
    const said = second.events.filter(({ port }) => [stays, closes, opens].includes(Number(port)));
    expect(said.map(({ type, port }) => [type, port])).toEqual([
      ['port_closed', closes],
      ['port_opened', opens],
    ]);
  });

  it('delivers what could not be delivered before', async () => {
    const [platform, child] = await Promise.all([openNoticePlatform('down'), startListenerProcess()]);
    const stateDir = tempDir();
    const port = await child.listen();
    const first = await startFor(platform, stateDir);
    await expect.poll(() => first.events.some((event) => event.port === port), soon).toBe(true);
    await first.stop();
    await child.close(port);
    platform.mode = 'up';
    await startFor(platform, stateDir);
    await expect.poll(() => platform.told(port), soon).toEqual([`+${port}`, `-${port}`]);
  });

  it('tells a platform that it has not met everything that is open', async () => {
    const [known, child] = await Promise.all([openNoticePlatform(), startListenerProcess()]);
    const stateDir = tempDir();
    const port = await child.listen();
    const first = await startFor(known, stateDir);
    await expect.poll(() => known.told(port), soon).toHaveLength(1);
    await first.stop();
    const other = await openNoticePlatform();
    const second = await startFor(other, stateDir);
    await expect.poll(() => other.told(port), soon).toEqual([`+${port}`]);
    expect(second.events.filter((event) => event.port === port)).toEqual([]);
  });

  it.each([
    ['in the same boot takes the same socket for the same listener', 'first', []],
    ['after a boot takes the same number for another socket', 'second', ['port_closed', 'port_opened']],
  ])('%s', async (_name, boot, types) => {
    const proc = makeProc();
    proc.boot('first');
    proc.listen(80);
    proc.hold(80);
    const stateDir = tempDir();
    const config = { procRoot: proc.root, period_ms: 3_600_000 };
    const before = await startPortsAgent({ config, stateDir });
    await before.ports.recover();
    await before.stop();
    proc.boot(boot);
    const after = await startPortsAgent({ config, stateDir });
    await after.ports.recover();
    expect(after.events.map(({ type }) => type)).toEqual(types);
  });

  it('sends again, under the same id, what the platform had taken when the agent was killed before it knew', async () => {
    const [platform, child] = await Promise.all([openNoticePlatform('mute'), startListenerProcess()]);
    const port = await child.listen();
    const script = new URL('../../support/ports-agent-child.ts', import.meta.url).pathname;
    const database = join(tempDir(), 'agent.db');
    const first = startChild(process.execPath, [script, database, platform.url]);
    await expect.poll(() => platform.told(port), soon).toEqual([`+${port}`]);
    first.process.kill('SIGKILL');
    await first.ended;
    platform.mode = 'up';
    startChild(process.execPath, [script, database, platform.url]);
    const arrivals = () => platform.arrived.filter((notice) => notice.port === port);
    await expect.poll(arrivals, soon).toHaveLength(2);
    expect(new Set(arrivals().map(({ id }) => id)).size).toBe(1);
    await child.close(port);
    await expect.poll(() => platform.told(port), soon).toEqual([`+${port}`, `-${port}`]);
  });
});
