// Puts the replication part of the agent together: follower, replica in memory, cache, readers and waiters.
// replication-handlers.ts has its operations.
import { join, resolve } from 'node:path';
import type { ReplicationStatus, replicationOperations } from '../../contract/local/replication.ts';
import type { Clock } from '../../core/clock.ts';
import type { Log } from '../../core/log.ts';
import type { Handlers } from '../../http/handler.ts';
import type { EventHub } from '../events/event-hub.ts';
import type { Part } from '../parts.ts';
import type { Upstream } from '../upstream.ts';
import { createCacheThread } from './cache/cache-thread.ts';
import { openCacheWriter } from './cache/cache-writer.ts';
import { createFollower } from './follow/follower.ts';
import type { FollowerTiming } from './follow/follower-timing.ts';
import { createMountCatchUp } from './mount/mount-catch-up.ts';
import { createMountedNode } from './mount/mounted-node.ts';
import { createPositionsDirectory, type PositionsDirectory } from './mount/positions-directory.ts';
import { createCursorReaders } from './readers/cursor-readers.ts';
import { createEventReaders } from './readers/event-readers.ts';
import { createPositionWaiters } from './readers/position-waiters.ts';
import { createReplica, type Replica } from './replica.ts';
import { createReplicationHandlers } from './replication-handlers.ts';
import type { Following } from './replication-status.ts';
import { toReplicationStatus } from './replication-status.ts';
import { createStreamRecorder } from './stream-recorder.ts';

export interface ReplicationOptions {
  readonly clock: Clock;
  /** A number in [0, 1), from urandom. */
  readonly random: () => number;
  readonly hub: Pick<EventHub, 'publish'>;
  readonly part: Part;
  readonly log: Log;
  readonly upstream: Pick<Upstream, 'dispatcher'>;
  /** The part is off when there is no `nodeUrl`. */
  readonly config: {
    readonly nodeUrl?: string | undefined;
    readonly stateDir: string;
    readonly litefsDir?: string | undefined;
    readonly positionsDir?: string | undefined;
  };
  /** Called for a change of the primary that lasted; `fields` are those of the event `primary_changed`. */
  readonly onPrimaryChange?: (fields: Readonly<Record<string, unknown>>) => void;
  /** False while a suspend is under way: the follower does not connect then. */
  readonly mayConnect: () => boolean;
  /** This option and those below are for tests. */
  readonly timing?: Partial<FollowerTiming>;
  readonly cacheRetry_ms?: number;
  readonly historyCap?: number;
}

export interface Replication extends AsyncDisposable {
  readonly handlers: Handlers<typeof replicationOperations, unknown>;
  /** Opens the cache and follows the node until `signal` aborts. Resolves when the cache is open, or did not open in time. */
  start(signal: AbortSignal): Promise<void>;
  /** Drops a connection from before the resume and connects. Resolves when `init` was read, rejects when that attempt failed. */
  recover(): Promise<void>;
  /** Writes the cache to its file, before the machine is suspended. */
  settle(): Promise<void>;
  /** The answer of GET /v1/replication. */
  status(): ReplicationStatus;
  /** Whether the node is the primary; undefined while it is not connected or knows no primary. */
  isPrimary(): boolean | undefined;
}

export function createReplication(options: ReplicationOptions): Replication {
  const { clock, config, log, part } = options;
  const created_ms = clock.wall_ms();
  const stop = new AbortController();
  let following: (Following & { end(): Promise<void> }) | undefined;
  let starting: Promise<void> | undefined;
  /** What does not work with the two directories: by the trouble, the text with its reason. */
  const complaints = new Map<string, string>();

  async function open(node: URL, signal: AbortSignal): Promise<Following & { end(): Promise<void> }> {
    const replica = createReplica(clock.wall_ms());
    const waiters = createPositionWaiters();
    const readers = createEventReaders();
    const mount = config.litefsDir === undefined ? undefined : createMountedNode(config.litefsDir, clock.wall_ms);
    const cache = await openCacheWriter({
      clock,
      link: createCacheThread(join(config.stateDir, 'replication.db')),
      current: () => replica.entries,
      onRestored(positions) {
        for (const [db, entry] of positions) replica.restore(db, entry);
      },
      onCondition: () => updatePart(),
      ...(options.cacheRetry_ms === undefined ? {} : { retry_ms: options.cacheRetry_ms }),
      ...(options.historyCap === undefined ? {} : { historyCap: options.historyCap }),
    });
    const cursorReaders = createCursorReaders(cache, () => replica.primary);
    const directory = toPositionsDirectory(replica);
    const recorder = createStreamRecorder({
      ...options,
      replica,
      cache,
      waiters,
      readers,
      cursorReaders,
      onPosition: (db) => directory?.touch(db),
      onPrimary: () => directory?.primaryChanged(),
      onPrimaryChange: (fields) => options.onPrimaryChange?.(fields),
      onChange(isConnected) {
        if (isConnected) catchUp?.connected();
        else catchUp?.disconnected();
        updatePart();
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
      node,
      dispatcher: () => options.upstream.dispatcher,
      listener: recorder,
    });
    const running = follower.run(signal).catch((error: unknown) => {
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
  function toPositionsDirectory(replica: Replica): PositionsDirectory | undefined {
    const { litefsDir, positionsDir } = config;
    if (positionsDir === undefined) return undefined;
    if (litefsDir !== undefined && resolve(litefsDir) === resolve(positionsDir)) {
      complain('REMORA_POSITIONS_DIR is not written', 'it is REMORA_LITEFS_DIR, which the node keeps itself');
      return undefined;
    }
    const onTrouble = (reason: string | undefined) => complain('REMORA_POSITIONS_DIR cannot be written', reason);
    return createPositionsDirectory({ path: positionsDir, replica, onTrouble });
  }

  function complain(what: string, reason: string | undefined): void {
    if (reason === undefined ? !complaints.delete(what) : complaints.get(what) === `${what}: ${reason}`) return;
    if (reason !== undefined) complaints.set(what, `${what}: ${reason}`);
    updatePart();
  }

  /** Sets the state of the part: the reason of the connection first, then that of the cache, then those of the directories. */
  function updatePart(): void {
    if (following === undefined || stop.signal.aborted) return;
    const { cache, recorder } = following;
    if (!recorder.connected && recorder.failure === undefined) return;
    const reasons: string[] = [];
    if (recorder.failure !== undefined) reasons.push(`${recorder.failure.message}; positions are those of the cache`);
    if (cache.condition.reason !== undefined) reasons.push(cache.condition.reason);
    reasons.push(...complaints.values());
    if (reasons.length === 0) part.set('ok');
    else part.set('degraded', reasons.join('; '));
  }

  function status(): ReplicationStatus {
    return toReplicationStatus(following ?? (starting === undefined ? 'off' : 'idle'), created_ms, clock.wall_ms());
  }

  return {
    handlers: createReplicationHandlers({
      clock,
      async following() {
        await starting;
        return following;
      },
      status,
    }),
    async start(signal) {
      if (config.nodeUrl === undefined) {
        part.set('off', 'REMORA_NODE_URL is not set');
        return;
      }
      const node = URL.parse(config.nodeUrl);
      if (node === null || !/^https?:$/.test(node.protocol)) {
        part.set('failed', `REMORA_NODE_URL is not an http address: ${config.nodeUrl}`);
        return;
      }
      part.set('starting');
      const abort = () => {
        stop.abort();
        following?.waiters.close();
      };
      if (signal.aborted) abort();
      else signal.addEventListener('abort', abort, { once: true });
      starting = open(node, stop.signal).then((opened) => {
        following = opened;
        updatePart();
      });
      await starting;
    },
    recover: async () => following?.follower.recover(),
    settle: async () => following?.cache.rest(),
    status,
    isPrimary() {
      const primary = following?.replica.primary.type ?? 'unknown';
      return primary === 'unknown' ? undefined : primary === 'self';
    },
    async [Symbol.asyncDispose]() {
      stop.abort();
      await starting;
      await following?.end();
    },
  };
}
