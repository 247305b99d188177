// Who keeps the event loop from everything else: told by name, in the figures of agent and platform.

import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { defineOperation } from '../../src/contract/operation.ts';
import { systemClock } from '../../src/core/clock.ts';
import { createEdge } from '../../src/http/edge.ts';
import { listenOnPath } from '../../src/http/listen-on-path.ts';
import { logHolds } from '../../src/http/log-holds.ts';
import { type Hold, LoopWatch } from '../../src/http/loop-watch.ts';
import { startAgent } from '../support/agent-process.ts';
import { ask } from '../support/ask.ts';
import { openTestPlatform } from '../support/open-platform.ts';
import { serveEdge } from '../support/serve-edge.ts';
import { silentLog } from '../support/silent-log.ts';
import { tempDir } from '../support/temp-dir.ts';

function hold(ms: number): undefined {
  const until_ms = performance.now() + ms;
  while (performance.now() < until_ms) Math.sqrt(until_ms);
}

const toOperation = (path: string) =>
  defineOperation({
    method: 'GET',
    path,
    summary: 'of the test',
    source: 'of the test',
    tag: 'status',
    answer: { kind: 'json', status: 200, schema: z.object({}) },
    errors: [],
  });

it('names the operation that held it longest, whatever ran before and after it', async () => {
  const holds: Hold[] = [];
  using loop = new LoopWatch((long) => holds.push(long));
  loop.start();
  const edge = createEdge({
    operations: { quick: toOperation('/v1/quick'), slow: toOperation('/v1/slow') },
    handlers: {
      quick: () => ({}),
      slow: async () => {
        await Promise.resolve();
        hold(700);
        return {};
      },
    },
    authenticate: () => undefined,
    loop,
    log: silentLog,
  });
  const path = join(tempDir(), 's');
  const listening = await listenOnPath(edge.createServer('socket'), { path, mode: 0o600 });
  onTestFinished(async () => {
    await edge.drain(0);
    listening[Symbol.dispose]();
  });
  const targets = ['/v1/quick', '/v1/quick', '/v1/slow', '/v1/quick', '/v1/quick'];
  await Promise.all(targets.map((target) => ask(path, { target })));
  await ask(path, { target: '/v1/quick' });
  expect(loop.longest.operation).toBe('slow');
  expect(loop.longest.ms).toBeGreaterThanOrEqual(699);
  expect(holds.some(({ operation, ms }) => operation === 'slow' && ms >= 699)).toBe(true);
});

it('a handler that holds it for 150 ms is named in a warning', async () => {
  const warnings: object[] = [];
  const warn = (fields: object, message: string) => void warnings.push({ ...fields, message });
  using loop = new LoopWatch(logHolds({ warn }));
  loop.start();
  const { path } = await serveEdge({ slow: toOperation('/v1/slow') }, { slow: () => hold(150) ?? {} }, { loop });
  await ask(path, { target: '/v1/slow' });
  await expect
    .poll(() => warnings)
    .toContainEqual({ ms: expect.any(Number), operation: 'slow', message: 'an operation held the event loop' });
});

it('the platform warns, as the agent does', async () => {
  const warned = Promise.withResolvers<object>();
  const warn = (fields: object, message: string) => {
    if (message === 'an operation held the event loop') warned.resolve(fields);
  };
  const platform = await openTestPlatform({
    log: { ...silentLog, warn },
    catalogue: [],
    // Asked in the turn of the call, as a slow decision would be.
    clock: { ...systemClock, wall_ms: () => hold(150) ?? Date.now() },
  });
  await platform.call({ path: '/v1/sprites' });
  expect(await warned.promise).toMatchObject({ operation: expect.any(String) });
});

it('says nothing of an operation that waits', async () => {
  // A machine that stands still holds the loop as well: once, and not every time.
  const longest: number[] = [];
  for (let run = 0; run < 5 && !longest.some((ms) => ms < 590); run += 1) {
    const holds: Hold[] = [];
    using loop = new LoopWatch((long) => holds.push(long));
    loop.enter('waiting');
    await new Promise((resolve) => setTimeout(resolve, 600));
    loop.enter('next');
    await new Promise((resolve) => setImmediate(resolve));
    longest.push(Math.max(0, ...holds.map(({ ms }) => ms)));
  }
  expect(Math.min(...longest)).toBeLessThan(590);
});

it('the agent tells in its status and its metrics, the platform in its metrics', async () => {
  const agent = await startAgent();
  const { cost } = z.object({ cost: z.record(z.string(), z.unknown()) }).parse((await agent.get('/v1/status')).json);
  expect(cost.longest_hold_ms).toBeTypeOf('number');
  expect(cost).toHaveProperty('longest_hold_operation');
  expect((await agent.get('/metrics')).text).toMatch(/^remora_loop_longest_hold_seconds\{operation="\w+"\} [\d.e-]+$/m);
  const platform = await openTestPlatform();
  const { text } = await platform.call({ path: '/metrics' });
  expect(text).toMatch(/^remora_platform_loop_longest_hold_seconds\{operation="\w+"\} [\d.e-]+$/m);
});
