// One service on its own, with a process that the test ends: moves that come at the same time.
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { ServiceLogEvent } from '../../../src/contract/services.ts';
import { LogFile } from '../../../src/supervisor/services/log-file.ts';
import { ServiceKeeper } from '../../../src/supervisor/services/service-keeper.ts';
import { serviceTiming } from '../../../src/supervisor/services/service-timing.ts';
import { tempDir } from '../../support/temp-dir.ts';

function createKeeper() {
  const ends: (() => void)[] = [];
  const events: ServiceLogEvent['type'][] = [];
  const keeper = new ServiceKeeper({
    name: 'web',
    request: { cmd: 'web', args: [], needs: [] },
    log: new LogFile({ path: join(tempDir(), 'web.log'), gid: undefined, wall_ms: () => 0 }),
    timing: { ...serviceTiming, proved_ms: 1 },
    wall_ms: () => 0,
    untilNeedsRun: async () => undefined,
    isStale: () => false,
    async start() {
      const { promise, resolve } = Promise.withResolvers<number>();
      ends.push(() => resolve(0));
      return { pid: 1, done: promise, end: () => undefined, signal: () => true, wasOutOfMemory: () => false };
    },
  });
  keeper.hub.follow(({ type }) => events.push(type));
  const endProcess = async (index: number) => {
    await expect.poll(() => ends.length).toBeGreaterThan(index);
    ends[index]?.();
  };
  return { keeper, events, endProcess, count: () => ends.length };
}

test('a start while it stops starts it once the old process is gone, and not before', async () => {
  const { keeper, events, endProcess, count } = createKeeper();
  keeper.start();
  await keeper.until((status) => status === 'running');
  keeper.stop(1_000);
  keeper.start();
  expect([keeper.status, count()]).toEqual(['stopping', 1]);
  await endProcess(0);
  await keeper.until((status) => status === 'running');
  expect(events).toEqual(['started', 'stopping', 'stopped', 'started']);
  keeper.stop(1_000);
  await endProcess(1);
  await keeper.until((status) => status === 'stopped');
});

test('a stop while the process is being made ends that process', async () => {
  const { keeper, events, endProcess } = createKeeper();
  keeper.start();
  keeper.stop(1_000);
  expect(keeper.status).toBe('stopping');
  await endProcess(0);
  await keeper.until((status) => status === 'stopped');
  expect(events).toEqual(['stopping', 'stopped']);
});

test('what is retired is not started again', async () => {
  const { keeper, endProcess, count } = createKeeper();
  keeper.start();
  await keeper.until((status) => status === 'running');
  keeper.retire(1_000);
  keeper.start();
  keeper.restart();
  await endProcess(0);
  await keeper.until((status) => status !== 'stopping');
  expect([keeper.status, count()]).toEqual(['stopped', 1]);
});
