import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { expect, onTestFinished, test } from 'vitest';
import { createGate } from '../../../src/agent/resume/gate.ts';
import { createRecovery, type Recovery } from '../../../src/agent/resume/recovery.ts';
import type { Step } from '../../../src/agent/resume/run-step.ts';
import type { StepResult } from '../../../src/contract/local/resume.ts';
import { type Clock, systemClock } from '../../../src/core/clock.ts';

/** A step that ends at once is in time on it, however long the test process stands still. */
const STILL: Clock = { ...systemClock, mono_ms: () => 0 };

interface Rig {
  readonly recovery: Recovery;
  readonly gate: ReturnType<typeof createGate>;
  readonly done: StepResult[][];
  /** Resolves when a recovery has ended. */
  ended(): Promise<StepResult[]>;
}

interface RigOptions {
  /** How long the steps take: no time at all, unless a test wants to see it. */
  readonly clock?: Clock;
  readonly check?: () => void;
  readonly renew?: () => void;
  readonly callersAnswered?: () => Promise<void>;
}

function rig(gated: readonly Step[], afterwards: readonly Step[] = [], options: RigOptions = {}): Rig {
  const { clock = STILL, check = () => undefined, renew = () => undefined, callersAnswered } = options;
  const gate = createGate({ check: () => undefined });
  const done: StepResult[][] = [];
  const waiting: ((reports: StepResult[]) => void)[] = [];
  const recovery = createRecovery({
    clock,
    gate,
    check,
    renew: { name: 'renew', deadline_ms: 1_000, run: renew },
    gated: () => gated,
    afterwards: () => afterwards,
    callersAnswered,
    onDone([renewed, ...reports]) {
      expect(renewed?.name).toBe('renew');
      done.push(reports);
      for (const resolve of waiting.splice(0)) resolve(reports);
    },
  });
  onTestFinished(() => recovery[Symbol.asyncDispose]());
  return { recovery, gate, done, ended: () => new Promise((resolve) => waiting.push(resolve)) };
}

function step(name: string, run: Step['run'] = () => undefined, deadline_ms = 60_000): Step {
  return { name, deadline_ms, run };
}

function busy(ms: number): void {
  const end_ms = performance.now() + ms;
  while (performance.now() < end_ms);
}

const CALLER = `
  const { workerData: { path, sent } } = require('node:worker_threads');
  const socket = require('node:net').connect(path, () => socket.write('GET / HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n', () => {
    Atomics.store(sent, 0, 1);
    Atomics.notify(sent, 0);
  }));
  socket.on('error', () => undefined);`;

const forever = () => new Promise<void>(() => undefined);

test('what may wait runs once after the gate has opened, before the later steps, and after a second resume too', async () => {
  const order: string[] = [];
  const { recovery, gate, ended } = rig([step('early')], [step('late', () => void order.push('late'))]);
  recovery.begin();
  recovery.afterCallers(() => order.push(gate.closed ?? 'open'));
  recovery.begin();
  recovery.afterCallers(() => order.push('second'));
  await ended();
  expect(order).toEqual(['open', 'second', 'late']);
});

test('steps that callers wait for begin first; what may wait, and the other steps, come when the callers are answered', async () => {
  const order: string[] = [];
  const answered = Promise.withResolvers<void>();
  const confirmed = Promise.withResolvers<void>();
  const run = () => {
    order.push('report');
    return confirmed.promise;
  };
  const report = { ...step('report', run), isForCallers: true };
  const other = step('other', () => void order.push('other'));
  const { recovery, ended } = rig([], [other, report], { callersAnswered: () => answered.promise });
  recovery.begin();
  recovery.afterCallers(() => order.push('later'));
  await expect.poll(() => order).toEqual(['report']);
  await sleep(20);
  expect(order).toEqual(['report']);
  answered.resolve();
  await expect.poll(() => order).toEqual(['report', 'later']);
  confirmed.resolve();
  expect((await ended()).map(({ name }) => name)).toEqual(['report', 'other']);
  expect(order).toEqual(['report', 'later', 'other']);
});

test('what may wait runs at the end when a recovery ends before it', async () => {
  let count = 0;
  const { recovery } = rig([step('early', forever)]);
  recovery.begin();
  recovery.afterCallers(() => {
    count += 1;
  });
  await recovery[Symbol.asyncDispose]();
  expect(count).toBe(1);
});

test('the renewal is done before begin returns, and the steps run one after the other after it', async () => {
  const order: string[] = [];
  const note = (name: string) => step(name, async () => void order.push(name));
  const { recovery, gate, ended } = rig([note('a'), note('b')], [note('c')], {
    renew: () => void order.push(`renewed, ${gate.closed}`),
  });
  recovery.begin();
  expect(order).toEqual(['renewed, resuming']);
  expect(recovery.running).toBe(true);
  expect((await ended()).map(({ name, ok }) => [name, ok])).toEqual([
    ['a', true],
    ['b', true],
    ['c', true],
  ]);
  expect(order).toEqual(['renewed, resuming', 'a', 'b', 'c']);
  expect(recovery.running).toBe(false);
});

test.each([
  ['at once', () => busy(60)],
  ['after a wait', () => sleep(1).then(() => busy(60))],
])(
  'a step that keeps the loop busy %s until after its deadline is told as late, and the next one runs',
  async (_when, run) => {
    const { recovery, ended } = rig([step('sockets', run, 20)], [step('next')], { clock: systemClock });
    recovery.begin();
    const [late, next] = await ended();
    expect(late).toMatchObject({ name: 'sockets', ok: false, reason: expect.stringMatching(/20 ms/) });
    expect(late?.ms).toBeGreaterThan(20);
    expect(next).toMatchObject({ name: 'next', ok: true });
  },
);

test('the gate is closed from the start, and open before the steps that follow it', async () => {
  const seen: (string | undefined)[] = [];
  const look = (name: string): Step => step(name, () => void seen.push(rigged.gate.closed));
  const rigged = rig([look('a'), look('b')], [look('c')]);
  const end = rigged.ended();
  rigged.recovery.begin();
  expect(rigged.gate.closed).toBe('resuming');
  await end;
  expect(seen).toEqual(['resuming', 'resuming', undefined]);
});

test('a caller whose connection waits in the queue of the socket is answered before the steps after the gate', async () => {
  const order: string[] = [];
  const rigged = rig([], [step('after the gate', () => void order.push('step'))]);
  const path = join(mkdtempSync(join(tmpdir(), 'rem-queue-')), 'socket');
  onTestFinished(() => rmSync(dirname(path), { recursive: true }));
  const server = createServer(async (_request, response) => {
    await rigged.gate.wait();
    order.push('answer');
    response.end();
  });
  server.listen(path);
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  // Its loop turns while this one stands still, as it does for a process of its own.
  const sent = new Int32Array(new SharedArrayBuffer(4));
  const caller = new Worker(CALLER, { eval: true, workerData: { path, sent } });
  onTestFinished(async () => void (await caller.terminate()));
  const ended = rigged.ended();
  // Nothing of this loop runs until the caller has asked.
  Atomics.wait(sent, 0, 0);
  rigged.recovery.begin();
  await ended;
  expect(order).toEqual(['answer', 'step']);
});

test('a step that hangs is cut at its deadline, told so, and reported, and the rest runs', async () => {
  let told: unknown;
  const hang = step(
    'hangs',
    (signal) => {
      signal.addEventListener('abort', () => {
        told = signal.reason;
      });
      return forever();
    },
    30,
  );
  const { recovery, ended } = rig([], [hang, step('next')], { clock: systemClock });
  recovery.begin();
  const [first, second] = await ended();
  expect(first).toMatchObject({ name: 'hangs', ok: false, reason: 'not done within 30 ms' });
  expect(first?.ms).toBeGreaterThanOrEqual(29);
  expect(second).toMatchObject({ name: 'next', ok: true });
  expect(told).toBeInstanceOf(Error);
});

test('a step that fails, at once or later, is reported with its reason', async () => {
  const { recovery, gate, ended } = rig(
    [
      step('throws', () => {
        throw new Error('no disk');
      }),
    ],
    [step('rejects', () => Promise.reject(new Error('no platform'))), step('next')],
  );
  recovery.begin();
  expect((await ended()).map(({ ok, reason }) => [ok, reason])).toEqual([
    [false, 'no disk'],
    [false, 'no platform'],
    [true, undefined],
  ]);
  expect(gate.closed).toBeUndefined();
});

test('a second resume in the middle starts over, and there is one report', async () => {
  const runs: string[] = [];
  const started = Promise.withResolvers<void>();
  let hang = true;
  const { recovery, gate, done, ended } = rig(
    [step('a', () => void runs.push('a'))],
    [
      step('b', async (signal) => {
        runs.push('b');
        if (!hang) return;
        started.resolve();
        await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
      }),
    ],
  );
  recovery.begin();
  await started.promise;
  expect(gate.closed).toBeUndefined();
  hang = false;
  const end = ended();
  recovery.begin();
  expect(gate.closed).toBe('resuming');
  expect((await end).map(({ name, ok }) => [name, ok])).toEqual([
    ['a', true],
    ['b', true],
  ]);
  await sleep(20);
  expect(runs).toEqual(['a', 'b', 'a', 'b']);
  expect(done).toHaveLength(1);
});

test('what a former attempt left behind cannot open the gate of the next one', async () => {
  const first = Promise.withResolvers<void>();
  const second = Promise.withResolvers<void>();
  const waits = [first, second];
  const { recovery, gate, ended } = rig([step('a', () => waits.shift()?.promise)]);
  recovery.begin();
  await expect.poll(() => waits.length).toBe(1);
  const end = ended();
  recovery.begin();
  first.resolve();
  await sleep(10);
  expect(gate.closed).toBe('resuming');
  second.resolve();
  await end;
  expect(gate.closed).toBeUndefined();
});

test('a deadline that is overdue because of another resume starts over instead of failing the step', async () => {
  let away = true;
  const check = () => {
    if (!away) return;
    away = false;
    rigged.recovery.begin();
  };
  const rigged = rig([step('a', () => (away ? forever() : undefined), 20)], [], { check });
  const end = rigged.ended();
  rigged.recovery.begin();
  expect(await end).toMatchObject([{ name: 'a', ok: true }]);
  expect(rigged.done).toHaveLength(1);
});

test('the end of the agent aborts the step under way and reports nothing', async () => {
  let aborted = false;
  const begun = Promise.withResolvers<void>();
  const { recovery, done } = rig([
    step('a', (signal) => {
      begun.resolve();
      signal.addEventListener('abort', () => {
        aborted = true;
      });
      return forever();
    }),
  ]);
  recovery.begin();
  await begun.promise;
  await recovery[Symbol.asyncDispose]();
  expect(aborted).toBe(true);
  expect(done).toEqual([]);
  recovery.begin();
  await sleep(10);
  expect(done).toEqual([]);
});

test('a renewal that fails is reported with its reason, and the steps run', async () => {
  const gate = createGate({ check: () => undefined });
  const ended = Promise.withResolvers<readonly StepResult[]>();
  const recovery = createRecovery({
    clock: STILL,
    gate,
    check: () => undefined,
    renew: {
      name: 'gate',
      deadline_ms: 1_000,
      run: () => {
        throw new Error('no random numbers');
      },
    },
    gated: () => [step('a')],
    afterwards: () => [],
    onDone: ended.resolve,
  });
  onTestFinished(() => recovery[Symbol.asyncDispose]());
  recovery.begin();
  expect(await ended.promise).toMatchObject([
    { name: 'gate', ok: false, reason: 'no random numbers' },
    { name: 'a', ok: true },
  ]);
  expect(gate.closed).toBeUndefined();
});
