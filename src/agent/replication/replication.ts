// The replication part of the agent, put together: follower, replica in memory, cache, readers and waiters (design.md,
// section 7). Its rows are served in replication-handlers.ts.
import { join } from 'node:path';
import type { Logger } from 'pino';
import type { ReplicationReport, replicationOperations } from '../../contract/local/replication.ts';
import type { Clock } from '../../core/clock.ts';
import type { Handlers } from '../../http/handler.ts';
import type { EventHub } from '../events/event-hub.ts';
import type { Part } from '../parts.ts';
import type { Upstream } from '../upstream.ts';
import { openCacheWriter } from './cache-writer.ts';
import { createEventReaders } from './event-readers.ts';
import { createFollower } from './follower.ts';
import type { FollowerTiming } from './follower-timing.ts';
import { createPositionWaiters } from './position-waiters.ts';
import { createReplica } from './replica.ts';
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
  readonly config: { readonly nodeUrl?: string | undefined; readonly stateDir: string };
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

  async function open(node: URL, signal: AbortSignal): Promise<Following & { end(): Promise<void> }> {
    const replica = createReplica(clock.wall_ms());
    const waiters = createPositionWaiters();
    const readers = createEventReaders();
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
    const recorder = createStreamRecorder({ ...options, replica, cache, waiters, readers, onChange: () => tell() });
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
      cache,
      recorder,
      follower,
      async end() {
        waiters.close();
        await running;
        recorder[Symbol.dispose]();
        await cache[Symbol.asyncDispose]();
      },
    };
  }

  /** What the part says of itself: first what the connection lacks, then what the cache lacks. */
  function tell(): void {
    if (following === undefined || stop.signal.aborted) return;
    const { cache, recorder } = following;
    if (!recorder.connected && recorder.failure === undefined) return;
    const reasons: string[] = [];
    if (recorder.failure !== undefined) reasons.push(`${recorder.failure.message}; positions are those of the cache`);
    if (cache.condition.reason !== undefined) reasons.push(cache.condition.reason);
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
