// The replication part of the agent, put together: follower, replica in memory, cache, readers and waiters (design.md,
// section 7). Its rows are served in replication-handlers.ts.
import { join, resolve } from 'node:path';
import type { Logger } from 'pino';
import type { ReplicationReport, replicationOperations } from '../../contract/local/replication.ts';
import type { Clock } from '../../core/clock.ts';
import type { Handlers } from '../../http/handler.ts';
import type { EventHub } from '../events/event-hub.ts';
import type { Part } from '../parts.ts';
import type { Upstream } from '../upstream.ts';
import { openCacheWriter } from './cache-writer.ts';
import { createCursorReaders } from './cursor-readers.ts';
import { createEventReaders } from './event-readers.ts';
import { createFollower } from './follower.ts';
import type { FollowerTiming } from './follower-timing.ts';
import { createMountCatchUp } from './mount-catch-up.ts';
import { createMountedNode } from './mounted-node.ts';
import { createPositionWaiters } from './position-waiters.ts';
import { createPositionsDirectory, type PositionsDirectory } from './positions-directory.ts';
import { createReplica, type Replica } from './replica.ts';
import { createReplicationHandlers } from './replication-handlers.ts';
import type { Following } from './replication-report.ts';
import { toReplicationReport } from './replication-report.ts';
import { createStreamRecorder } from './stream-recorder.ts';
import { createWorkerLink } from './worker-link.ts';

export interface ReplicationOptions {
  readonly clock: Clock;
  /** A number in [0, 1), from urandom. */
  readonly random: () => number;
  readonly hub: Pick<EventHub, 'publish'>;
  readonly part: Part;
  readonly log: Logger;
  readonly upstream: Pick<Upstream, 'dispatcher'>;
  /** Without `nodeUrl` the part is off. */
  readonly config: {
    readonly nodeUrl?: string | undefined;
    readonly stateDir: string;
    readonly litefsDir?: string | undefined;
    readonly positionsDir?: string | undefined;
  };
  /** The primary is another one, and that has lasted; the fields are those of the event `primary_changed`. */
  readonly onPrimaryChange?: (fields: Readonly<Record<string, unknown>>) => void;
  /** False while a suspend is under way: nothing is dialled then. */
  readonly mayConnect: () => boolean;
  /** For tests, as is what follows. */
  readonly timing?: Partial<FollowerTiming>;
  readonly cacheRetry_ms?: number;
  readonly historyCap?: number;
}

export interface Replication extends AsyncDisposable {
  readonly handlers: Handlers<typeof replicationOperations, unknown>;
  /** Opens the cache and follows the node until `signal` is aborted. Resolves when the cache is open, or did not open in time. */
  start(signal: AbortSignal): Promise<void>;
  /** Drops the connection and dials anew. Resolves when `init` was read, rejects when that attempt failed. */
  onResume(): Promise<void>;
  /** Brings the cache into its file before the machine is suspended. */
  checkpoint(): Promise<void>;
  /** As GET /v1/replication. */
  status(): ReplicationReport;
  /** Whether the node is the primary; undefined while it is not connected or knows no primary. */
  isPrimary(): boolean | undefined;
}

export function createReplication(options: ReplicationOptions): Replication {
  const { clock, config, log, part } = options;
  const created_ms = clock.wall_ms();
  const stop = new AbortController();
  let following: (Following & { end(): Promise<void> }) | undefined;
  let starting: Promise<void> | undefined;
  /** What of the directories does not work, by what it is. */
  const complaints = new Map<string, string>();

  async function open(node: URL, signal: AbortSignal): Promise<Following & { end(): Promise<void> }> {
    const replica = createReplica(clock.wall_ms());
    const waiters = createPositionWaiters();
    const readers = createEventReaders();
    const mount = config.litefsDir === undefined ? undefined : createMountedNode(config.litefsDir, clock.wall_ms);
    const cache = await openCacheWriter({
      clock,
      link: createWorkerLink(join(config.stateDir, 'replication.db')),
      current: () => replica.entries,
      onRestored(positions) {
        for (const [db, entry] of positions) replica.restore(db, entry);
      },
      onCondition: () => tell(),
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
        tell();
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

  /** Absent while both settings name one directory: the node's own files are not ours to write. */
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
    tell();
  }

  /** What the part says of itself: first what the connection lacks, then what the cache lacks. */
  function tell(): void {
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

  function status(): ReplicationReport {
    return toReplicationReport(following ?? (starting === undefined ? 'off' : 'idle'), created_ms, clock.wall_ms());
  }

  return {
    handlers: createReplicationHandlers({
      clock,
      async following() {
        await starting;
        return following;
      },
      report: status,
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
        tell();
      });
      await starting;
    },
    onResume: async () => following?.follower.onResume(),
    checkpoint: async () => following?.cache.checkpoint(),
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
