import { chmodSync, writeFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { Hold } from '../../../src/core/holds/hold-book.ts';
import { RemoraError } from '../../../src/core/remora-error.ts';
import { createSs } from '../../../src/linux/sockets/ss.ts';
import { type IdleAgent, startIdleAgent } from '../../support/idle-agent.ts';
import { startListenerProcess } from '../../support/listener-process.ts';
import { loudly } from '../../support/loudly.ts';
import { startTalkerProcess } from '../../support/talker-process.ts';
import { tempDir } from '../../support/temp-dir.ts';

const AFTER_MS = 600;
const noSs = await createSs()
  .list()
  .then(
    () => false,
    () => true,
  );
const withSs = it.skipIf(loudly(noSs, 'no `ss` on this machine: bytes of connections are not tried'));

const hold: Hold = {
  name: 'build',
  mode: 'block',
  reason: 'compiling',
  process: undefined,
  connection: false,
  created_wall_ms: Date.UTC(2026, 0, 1),
  deadline_run_ms: 1e12,
};

/** A port of another process, and a connection to it from a third. */
async function openConnection() {
  const listener = await startListenerProcess();
  const talker = await startTalkerProcess();
  const port = await listener.listen();
  const id = await talker.connect(port);
  return { port, talker, id };
}

/** Does something again and again until the test ends. What is under way then is waited for: whom it talks to ends after it. */
function keepOn(work: () => unknown): void {
  const over = new AbortController();
  async function goOn(): Promise<void> {
    while (!over.signal.aborted) {
      await work();
      await sleep(100, undefined, { signal: over.signal }).catch(() => undefined);
    }
  }
  const going = goOn();
  going.catch(() => undefined);
  onTestFinished(() => {
    over.abort();
    return going;
  });
}

/** Run time that goes on by itself for half of the idle time at most, until it is told that bytes were sent. */
function openSendClock() {
  let base_ms = 0;
  let since_ms = performance.now();
  let most_ms = AFTER_MS / 2;
  const now_ms = () => base_ms + Math.min(performance.now() - since_ms, most_ms);
  return {
    now_ms,
    skip: () => undefined,
    /** Goes on from here, as long as `next_ms` at most. */
    goOn(next_ms = AFTER_MS / 2) {
      base_ms = now_ms();
      since_ms = performance.now();
      most_ms = next_ms;
    },
  };
}

describe('a machine without work', () => {
  it('suspends itself once its time has come, and says how long it was idle', async () => {
    const begun = performance.now();
    const agent = await startIdleAgent({ idleAfter_ms: AFTER_MS });
    await expect.poll(agent.asks).toBe(1);
    expect(performance.now() - begun).toBeGreaterThan(AFTER_MS - 50);
    const event = agent.events.find(({ type }) => type === 'idle_suspend');
    expect(event).toMatchObject({ after_ms: AFTER_MS });
    expect(event?.idle_ms).toBeGreaterThanOrEqual(AFTER_MS);
  });

  withSs('suspends itself in spite of an open connection without bytes', async () => {
    const { port } = await openConnection();
    const agent = await startIdleAgent({ idleAfter_ms: AFTER_MS });
    agent.world.ports = [port];
    await expect
      .poll(async () => (await agent.report()).ignored)
      .toContainEqual(expect.stringContaining(`port ${port}: 1 open connection without bytes since`));
    await expect.poll(agent.asks).toBe(1);
  });

  withSs('does not take connections of the agent itself for work', async () => {
    const listener = await startListenerProcess();
    const port = await listener.listen();
    const socket = await new Promise<Socket>((resolve) => {
      const opened = connect(port, '127.0.0.1', () => resolve(opened));
    });
    onTestFinished(() => void socket.destroy());
    keepOn(() => socket.write('x'));
    const agent = await startIdleAgent({ idleAfter_ms: AFTER_MS });
    agent.world.ports = [port];
    await expect.poll(agent.asks).toBe(1);
  });

  withSs('does not take connections to a port that is set aside for work', async () => {
    const { port, talker, id } = await openConnection();
    keepOn(() => talker.send(id, 10));
    const agent = await startIdleAgent({ idleAfter_ms: AFTER_MS, idleIgnorePorts: [port] });
    agent.world.ports = [port];
    expect((await agent.report()).ignored).toContain(`port ${port}: named in suspend.idle_ignore_ports`);
    await expect.poll(agent.asks).toBe(1);
  });

  it('is not kept awake by being asked why it is awake', async () => {
    const agent = await startIdleAgent({ idleAfter_ms: AFTER_MS });
    keepOn(() => agent.report());
    await expect.poll(agent.asks).toBe(1);
  });
});

describe('a machine at work', () => {
  withSs('stays awake while bytes come in, and says on which port', async () => {
    const { port, talker, id } = await openConnection();
    // Where a busy machine keeps the talker from sending, that is no time without bytes.
    const runClock = openSendClock();
    const agent = await startIdleAgent({ idleAfter_ms: AFTER_MS, runClock });
    agent.world.ports = [port];
    const until_ms = 2.5 * AFTER_MS;
    const told: unknown[] = [];
    while (runClock.now_ms() < until_ms) {
      await talker.send(id, 100);
      runClock.goOn();
      told.push(...(await agent.report()).blockers);
      await sleep(100);
    }
    expect(agent.asks()).toBe(0);
    expect(told).toContainEqual({
      kind: 'connection',
      owner: `port ${port}`,
      since: expect.any(String),
      reason: expect.stringMatching(/^1 open connection, \d+ bytes since the look before$/),
    });
    runClock.goOn(Infinity);
    await expect.poll(agent.asks).toBe(1);
  });

  it.each<[string, (world: Awaited<ReturnType<typeof startIdleAgent>>['world']) => void, object]>([
    [
      'a hold',
      (world) => void world.holds.push(hold),
      { kind: 'hold', owner: 'build', reason: 'compiling', since: '2026-01-01T00:00:00.000Z' },
    ],
    [
      'a call through the gateway',
      (world) => void world.calls.open.set('openai/conn_1', 1),
      { kind: 'gateway_call', owner: 'openai/conn_1', reason: '1 in flight' },
    ],
    [
      'being the primary',
      (world) => {
        world.isPrimary = true;
      },
      { kind: 'primary', owner: 'replication' },
    ],
    [
      'a recovery',
      (world) => {
        world.suspendState = 'resuming';
      },
      { kind: 'suspend_state', owner: 'resuming' },
    ],
  ])('stays awake for %s, and says so at once', async (_case, begin, blocker) => {
    let looks = 0;
    const ss = {
      list: async () => {
        looks += 1;
        return [];
      },
    };
    const agent = await startIdleAgent({ idleAfter_ms: AFTER_MS, ss, begin });
    expect(await agent.report()).toMatchObject({
      idle: false,
      idle_since: null,
      blockers: [blocker],
      would_suspend_at: null,
      idle_suspend: { after_ms: AFTER_MS },
    });
    await sleep(1.5 * AFTER_MS);
    expect(agent.asks()).toBe(0);
    // While something else keeps it awake, no process is started to look at connections.
    expect(looks).toBeLessThanOrEqual(1);
  });

  it('stays awake through a hold that comes and goes between two looks', async () => {
    const runClock = openSendClock();
    const agent = await startIdleAgent({ idleAfter_ms: AFTER_MS, runClock });
    while (runClock.now_ms() < 2 * AFTER_MS) {
      agent.publish('hold_created');
      agent.publish('hold_released');
      runClock.goOn();
      await sleep(100);
    }
    expect(agent.asks()).toBe(0);
  });
});

describe('without `ss`', () => {
  it('every open connection counts, and the report says why', async () => {
    const { port, talker, id } = await openConnection();
    const begin = (world: IdleAgent['world']) => void world.ports.push(port);
    const agent = await startIdleAgent({ idleAfter_ms: AFTER_MS, ssCommand: '/nonexistent/ss', begin });
    await sleep(1.5 * AFTER_MS);
    const report = await agent.report();
    expect(report.blockers).toMatchObject([
      { kind: 'connection', owner: `port ${port}`, reason: '1 open connection, bytes cannot be seen' },
    ]);
    expect(report.ignored.join()).toContain('`ss` is not installed (package iproute2): every open inbound connection');
    expect(agent.asks()).toBe(0);
    await talker.close(id);
    await expect.poll(agent.asks).toBe(1);
  });

  it('that answers, the same', async () => {
    const hanging = join(tempDir(), 'ss');
    writeFileSync(hanging, '#!/bin/sh\nexec sleep 60\n');
    chmodSync(hanging, 0o755);
    const { port } = await openConnection();
    const begin = (world: IdleAgent['world']) => void world.ports.push(port);
    const agent = await startIdleAgent({ idleAfter_ms: AFTER_MS, ssCommand: hanging, begin });
    await expect.poll(async () => (await agent.report()).ignored.join()).toContain('`ss` did not answer within 300 ms');
    expect(agent.asks()).toBe(0);
  });
});

describe('a suspend that does not come about', () => {
  it('is asked for again after a while, not at once, and the reason is told', async () => {
    const agent = await startIdleAgent({
      idleAfter_ms: AFTER_MS,
      retryMin_ms: 60_000,
      suspend: () => Promise.reject(new RemoraError('not_eligible', 'too large')),
    });
    await expect.poll(agent.asks).toBe(1);
    await sleep(AFTER_MS);
    expect(agent.asks()).toBe(1);
    const { last_refusal, would_suspend_at } = await agent.report();
    expect(last_refusal).toMatchObject({ message: 'too large' });
    expect(would_suspend_at).toBe(last_refusal?.next_try_at);
    const wait_ms = Date.parse(last_refusal?.next_try_at ?? '') - Date.parse(last_refusal?.at ?? '');
    expect(wait_ms).toBeGreaterThan(59_000);
    const failed = agent.events.filter(({ type }) => type === 'idle_suspend_failed');
    expect(failed).toMatchObject([{ message: 'too large', retry_ms: expect.closeTo(wait_ms, -3) }]);
  });

  it('is asked for again when its time has come', async () => {
    const agent = await startIdleAgent({
      idleAfter_ms: AFTER_MS,
      retryMin_ms: 200,
      suspend: () => Promise.reject(new RemoraError('upstream_failed', 'no')),
    });
    await expect.poll(agent.asks).toBeGreaterThanOrEqual(2);
  });

  it('although it was accepted, is not asked for again at once; a resume ends the waiting', async () => {
    const asked_ms: number[] = [];
    const agent = await startIdleAgent({
      idleAfter_ms: AFTER_MS,
      retryMin_ms: 60_000,
      suspend: async () => void asked_ms.push(performance.now()),
    });
    await expect.poll(agent.asks).toBe(1);
    await sleep(1.5 * AFTER_MS);
    expect(agent.asks()).toBe(1);
    const resumed_ms = performance.now();
    agent.idle.onResumed();
    expect(await agent.report()).not.toHaveProperty('last_refusal');
    await expect.poll(agent.asks).toBe(2);
    expect((asked_ms[1] ?? 0) - resumed_ms).toBeGreaterThan(AFTER_MS - 50);
  });
});

it('a resume counts although a look at the connections has begun before it', async () => {
  const first = Promise.withResolvers<[]>();
  const looks = [first.promise];
  let isLooking = false;
  const ss = {
    list() {
      isLooking = true;
      return looks.shift() ?? Promise.resolve([]);
    },
  };
  let asked_ms = 0;
  const suspend = async () => {
    asked_ms = performance.now();
  };
  const agent = await startIdleAgent({ idleAfter_ms: AFTER_MS, ss, suspend });
  await expect.poll(() => isLooking).toBe(true);
  await sleep(AFTER_MS);
  agent.idle.onResumed();
  const resumed_ms = performance.now();
  first.resolve([]);
  await expect.poll(agent.asks).toBe(1);
  expect(asked_ms - resumed_ms).toBeGreaterThan(AFTER_MS - 50);
});

describe('work that arrives while the suspend is prepared', () => {
  it.each<[string, (world: Awaited<ReturnType<typeof startIdleAgent>>['world']) => void, RegExp]>([
    [
      'a hold',
      (world) => void world.holds.push(hold),
      /work arrived while the suspend was prepared: build \(compiling\)/,
    ],
    [
      'a call that waits at the gate',
      (world) => {
        world.calls.total += 1;
      },
      /a call or a hold that came and went/,
    ],
  ])('drops it: %s', async (_case, arrive, message) => {
    const agent = await startIdleAgent({
      idleAfter_ms: AFTER_MS,
      async suspend(recheck) {
        agent.world.suspendState = 'preparing';
        arrive(agent.world);
        await recheck().finally(() => {
          agent.world.suspendState = 'awake';
        });
      },
    });
    const failed = () => agent.events.find(({ type }) => type === 'idle_suspend_failed')?.message;
    await expect.poll(failed).toMatch(message);
  });

  withSs('is not what programs in here say to one another on being told of it', async () => {
    const { port, talker, id } = await openConnection();
    let prepared = 0;
    const agent = await startIdleAgent({
      idleAfter_ms: AFTER_MS,
      async suspend(recheck) {
        await talker.send(id, 100);
        await recheck();
        prepared += 1;
      },
    });
    agent.world.ports = [port];
    await expect.poll(() => prepared).toBe(1);
  });
});

it('tells what keeps the machine awake also when idle suspend is off, and starts no process for it', async () => {
  const ss = { list: () => Promise.reject(new Error('nobody should look')) };
  const agent = await startIdleAgent({ ss });
  agent.world.holds.push(hold);
  const report = await agent.report();
  expect(report).toMatchObject({
    idle: false,
    blockers: [{ kind: 'hold', owner: 'build' }],
    would_suspend_at: null,
    idle_suspend: 'off',
  });
  expect(report.ignored.join()).toContain('looked at only while idle suspend is on');
});
