// The disk stalls, or is slower than the stream. No caller waits for it, memory stays bounded, and what was not written is a gap.
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { CacheAnswer, CacheLink } from '../../../../src/agent/replication/cache/cache-request.ts';
import { replicationSchema } from '../../../../src/agent/replication/cache/cache-schema.ts';
import { createCacheStore } from '../../../../src/agent/replication/cache/cache-store.ts';
import { createCacheThread } from '../../../../src/agent/replication/cache/cache-thread.ts';
import { openCacheWriter } from '../../../../src/agent/replication/cache/cache-writer.ts';
import type { ReplicaEntry } from '../../../../src/agent/replication/replica.ts';
import { systemClock } from '../../../../src/core/clock.ts';
import { openDatabaseOrMemory } from '../../../../src/sqlite/open.ts';
import { eventually } from '../../../support/eventually.ts';
import { tempDir } from '../../../support/temp-dir.ts';

function entry(n: number): ReplicaEntry {
  const id = n.toString(16).padStart(16, '0');
  const rest = { postApplyChecksum: id, pageSize: 4096, commit: 1, timestamp: '2026-01-01T00:00:00Z' };
  return { transaction: { txID: id, ...rest }, standing: 'live', received_ms: n };
}

/** A store whose disk can be stopped: requests wait, in order, and nothing is answered. */
function stoppable(): CacheLink & { stop(): void; go(): void } {
  const path = join(tempDir(), 'replication.db');
  const store = createCacheStore(() => openDatabaseOrMemory(path, { migrations: replicationSchema }));
  let held: (() => void)[] | undefined;
  return {
    ask(request) {
      const answer = Promise.withResolvers<CacheAnswer>();
      const run = () => answer.resolve(store.answer(request));
      if (held === undefined) run();
      else held.push(run);
      return answer.promise;
    },
    rest: async () => undefined,
    stop() {
      held ??= [];
    },
    go() {
      for (const run of held ?? []) run();
      held = undefined;
    },
    async [Symbol.asyncDispose]() {
      this.go();
      store[Symbol.dispose]();
    },
  };
}

async function openWriter(link: CacheLink) {
  const current = new Map<string, ReplicaEntry>();
  const said: string[] = [];
  const writer = await openCacheWriter({
    clock: systemClock,
    link,
    retry_ms: 30,
    current: () => current,
    onRestored: () => undefined,
    onCondition: ({ state }) => said.push(state),
  });
  onTestFinished(() => writer[Symbol.asyncDispose]());
  let n = 0;
  return {
    writer,
    said,
    move(count: number) {
      for (const end = n + count; n < end; ) {
        n += 1;
        current.set('a', entry(n));
        writer.add([{ type: 'tx', db: 'a', entry: entry(n) }]);
      }
    },
    async rows() {
      const page = await writer.history('a', { type: 'seq', seq: 0 }, 200_000);
      return (page?.rows ?? []).map((row) =>
        row.type === 'tx'
          ? Number(`0x${row.entry.transaction.txID}`)
          : `gap ${Number(`0x${row.missed.from}`)}-${Number(`0x${row.missed.to}`)} ${row.cause}`,
      );
    },
  };
}

/** Resolves when the file is open: a busy machine may need longer to start a thread than an open waits. */
async function openOnThread(link: CacheLink) {
  const opened = await openWriter(link);
  await eventually(() => opened.writer.condition.state !== 'failed');
  return opened;
}

test('a write that does not come back is told, and once it does everything is there', async () => {
  const link = stoppable();
  const { move, rows, writer } = await openWriter(link);
  move(1);
  await writer.flush();
  expect(writer.condition.state).toBe('file');
  link.stop();
  move(2);
  await eventually(() => writer.condition.state === 'failed');
  expect(writer.condition.reason).toMatch(/does not answer/);
  move(1);
  link.go();
  await eventually(() => writer.condition.state === 'file');
  expect(await rows()).toEqual([1, 2, 3, 4]);
});

test('what is too much to keep is let go, and is a gap when the disk is back', async () => {
  const link = stoppable();
  const { move, rows, writer } = await openWriter(link);
  move(1);
  await writer.flush();
  link.stop();
  expect(writer.drained()).toBeUndefined();
  move(10_000);
  expect(writer.drained()).toBeInstanceOf(Promise);
  await writer.drained();
  expect(writer.condition.state).toBe('failed');
  expect(writer.drained()).toBeUndefined();
  move(60_000);
  expect(writer.condition.reason).toMatch(/does not keep up/);
  link.go();
  await eventually(() => writer.condition.state === 'file');
  move(1);
  const kept = await rows();
  const gap = kept.findIndex((row) => typeof row === 'string');
  expect(gap).toBeGreaterThan(10_000);
  expect(gap).toBeLessThan(51_000);
  expect(kept.slice(0, gap)).toEqual(Array.from({ length: gap }, (_, at) => at + 1));
  expect(kept.slice(gap)).toEqual([`gap ${gap + 1}-70000 not_saved`, 70_001, 70_002]);
});

test('a file that does not open is not waited for, and gets everything once it does', async () => {
  const link = stoppable();
  link.stop();
  const begun_ms = performance.now();
  const { move, rows, writer } = await openWriter(link);
  expect(performance.now() - begun_ms).toBeLessThan(20_000);
  move(3);
  expect(writer.condition.state).toBe('failed');
  link.go();
  await eventually(() => writer.condition.state === 'file');
  move(1);
  expect(await rows()).toEqual(['gap 1-2 not_saved', 3, 4]);
});

test('the thread ends when nothing is written, and the next write starts another', async () => {
  const link = createCacheThread(join(tempDir(), 'replication.db'), 50);
  const { move, rows, writer } = await openOnThread(link);
  for (const n of [1, 2, 3]) {
    move(1);
    await writer.flush();
    await eventually(() => writer.condition.state === 'file');
    await eventually(() => !link.isRunning);
    expect(await rows()).toEqual(Array.from({ length: n }, (_, at) => at + 1));
  }
});

test('a rest leaves one complete file and no thread', async () => {
  const path = join(tempDir(), 'replication.db');
  const link = createCacheThread(path);
  const { move, rows, writer } = await openOnThread(link);
  move(2);
  await writer.rest();
  expect(link.isRunning).toBe(false);
  expect(existsSync(`${path}-wal`)).toBe(false);
  await writer.rest();
  expect(link.isRunning).toBe(false);
  move(1);
  expect(await rows()).toEqual([1, 2, 3]);
});

test('a file that is gone when the thread starts again is made again, with what is known', async () => {
  const path = join(tempDir(), 'replication.db');
  const link = createCacheThread(path, 50);
  const { move, rows, said, writer } = await openOnThread(link);
  move(2);
  await writer.flush();
  await eventually(() => !link.isRunning);
  writeFileSync(path, 'x'.repeat(10_000));
  await eventually(() => writer.condition.state === 'file');
  const before = said.length;
  move(1);
  await eventually(() => said.slice(before).includes('failed') && said.at(-1) === 'file');
  move(1);
  expect(await rows()).toEqual(['gap 1-2 not_saved', 3, 4]);
});

test('memory that stands in for a file does not end with the thread', async () => {
  const path = join(tempDir(), 'replication.db');
  mkdirSync(path);
  const link = createCacheThread(path, 50);
  const { move, rows, writer } = await openOnThread(link);
  expect(writer.condition.state).toBe('memory');
  move(2);
  const since_ms = performance.now();
  await eventually(() => performance.now() - since_ms > 200);
  expect(await rows()).toEqual([1, 2]);
});

test('a thread that is gone is replaced, and its file goes on', async () => {
  const path = join(tempDir(), 'replication.db');
  const link = createCacheThread(path);
  const { move, rows, writer } = await openOnThread(link);
  move(3);
  await writer.flush();
  // The next request finds no thread, as after a crash.
  await link[Symbol.asyncDispose]();
  move(1);
  await writer.flush();
  await eventually(() => writer.condition.state === 'file');
  move(1);
  expect(await rows()).toEqual([1, 2, 3, 4, 5]);
});
