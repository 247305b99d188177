// Opens what runs while a node is followed: cache, replica in memory, readers, waiters, directories and the follower itself.
import { join, resolve } from 'node:path';
import { createCacheThread } from './cache/cache-thread.ts';
import { openCacheWriter } from './cache/cache-writer.ts';
import { createFollower } from './follow/follower.ts';
import { createMountCatchUp } from './mount/mount-catch-up.ts';
import { createMountedNode } from './mount/mounted-node.ts';
import { createPositionsDirectory, type PositionsDirectory } from './mount/positions-directory.ts';
import { createCursorReaders } from './readers/cursor-readers.ts';
import { createEventReaders } from './readers/event-readers.ts';
import { createPositionWaiters } from './readers/position-waiters.ts';
import { createReaderWrites } from './readers/reader-writes.ts';
import { createReplica, type Replica } from './replica.ts';
import type { ReplicationOptions } from './replication-options.ts';
import type { Following } from './replication-status.ts';
import { createStreamRecorder } from './stream-recorder.ts';

export interface FollowingOptions extends ReplicationOptions {
  readonly node: URL;
  readonly signal: AbortSignal;
  /** Called when the connection or the condition of the cache has changed. */
  readonly onChange: () => void;
  /** Says that something does not work, and why; `undefined` = it works again. */
  readonly complain: (what: string, reason: string | undefined) => void;
}

export interface OpenedFollowing extends Following {
  /** Closes all of it. Call it after the signal has aborted. */
  end(): Promise<void>;
}

/** Resolves when the cache is open, or did not open in time; the follower runs until `signal` aborts. */
export async function openFollowing(options: FollowingOptions): Promise<OpenedFollowing> {
  const { clock, complain, config, log, node, part } = options;
  const replica = createReplica(clock.wall_ms());
  const waiters = createPositionWaiters();
  const writes = createReaderWrites();
  const readers = createEventReaders(writes);
  const mount = config.litefsDir === undefined ? undefined : createMountedNode(config.litefsDir, clock.wall_ms);
  const cache = await openCacheWriter({
    clock,
    link: createCacheThread(join(config.stateDir, 'replication.db')),
    current: () => replica.entries,
    onRestored(positions) {
      for (const [db, entry] of positions) replica.restore(db, entry);
    },
    onCondition: options.onChange,
    ...(options.cacheRetry_ms === undefined ? {} : { retry_ms: options.cacheRetry_ms }),
    ...(options.historyCap === undefined ? {} : { historyCap: options.historyCap }),
  });
  const cursorReaders = createCursorReaders(cache, () => replica.primary, writes);
  const directory = openPositionsDirectory(options, replica);
  const recorder = createStreamRecorder({
    ...options,
    replica,
    cache,
    waiters,
    readers,
    cursorReaders,
    writes,
    onPosition: (db) => directory?.touch(db),
    onPrimary: () => directory?.primaryChanged(),
    onPrimaryChange: (fields) => options.onPrimaryChange?.(fields),
    onChange(isConnected) {
      if (isConnected) catchUp?.connected();
      else catchUp?.disconnected();
      options.onChange();
    },
  });
  const catchUp =
    mount === undefined
      ? undefined
      : createMountCatchUp({
          mount,
          replica,
          onPosition: recorder.onMounted,
          onPrimary: recorder.onMountedPrimary,
          onTrouble: (reason) => complain('REMORA_LITEFS_DIR cannot be read', reason),
        });
  for (const db of replica.entries.keys()) directory?.touch(db);
  const follower = createFollower({
    ...options,
    dispatcher: () => options.upstream.dispatcher,
    listener: recorder,
  });
  const running = follower.run(options.signal).catch((error: unknown) => {
    log.error({ err: error }, 'the follower has failed');
    part.set('failed', 'the follower has failed; the log has the cause. Restart the agent');
  });
  return {
    node,
    replica,
    waiters,
    readers,
    cursorReaders,
    mount,
    cache,
    recorder,
    follower,
    async end() {
      waiters.close();
      await running;
      catchUp?.[Symbol.dispose]();
      recorder[Symbol.dispose]();
      await directory?.[Symbol.asyncDispose]();
      await cache[Symbol.asyncDispose]();
    },
  };
}

/** Undefined when both settings name one directory, because the agent must not write the node's own files. */
function openPositionsDirectory(
  { complain, config }: FollowingOptions,
  replica: Replica,
): PositionsDirectory | undefined {
  const { litefsDir, positionsDir } = config;
  if (positionsDir === undefined) return undefined;
  if (litefsDir !== undefined && resolve(litefsDir) === resolve(positionsDir)) {
    complain('REMORA_POSITIONS_DIR is not written', 'it is REMORA_LITEFS_DIR, which the node keeps itself');
    return undefined;
  }
  const onTrouble = (reason: string | undefined) => complain('REMORA_POSITIONS_DIR cannot be written', reason);
  return createPositionsDirectory({ path: positionsDir, replica, onTrouble });
}
