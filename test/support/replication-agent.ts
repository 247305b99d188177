// The replication part of an agent behind a real Unix socket, with a real cache file.
import { onTestFinished } from 'vitest';
import { type AgentEvent, createEventHub } from '../../src/agent/events/event-hub.ts';
import { createPartBoard, type PartStatus } from '../../src/agent/parts.ts';
import type { FollowerTiming } from '../../src/agent/replication/follow/follower-timing.ts';
import { createReplication, type Replication } from '../../src/agent/replication/replication.ts';
import { createUpstream, type Upstream } from '../../src/agent/upstream.ts';
import { replicationOperations } from '../../src/contract/local/replication.ts';
import { systemClock } from '../../src/core/clock.ts';
import { randomFraction } from '../../src/core/urandom.ts';
import { ask, type HttpAnswer } from './ask.ts';
import { eventually } from './eventually.ts';
import { type LineReader, readLines } from './read-lines.ts';
import { serveEdge } from './serve-edge.ts';
import { silentLog } from './silent-log.ts';
import { tempDir } from './temp-dir.ts';

export interface ReplicationAgent {
  readonly replication: Replication;
  readonly upstream: Upstream;
  readonly path: string;
  readonly stateDir: string;
  /** Everything it has published, oldest first. */
  readonly events: readonly AgentEvent[];
  part(): PartStatus;
  get(target: string): Promise<HttpAnswer>;
  read(target: string): Promise<LineReader>;
  /** Resolves once the replica has this transaction. */
  reaches(db: string, id: number): Promise<void>;
  connected(): Promise<void>;
  /** Stops as a stop of the daemon would; the end of the test does so too. */
  stop(): Promise<void>;
}

export interface ReplicationAgentOptions {
  readonly nodeUrl?: string;
  readonly stateDir?: string;
  readonly timing?: Partial<FollowerTiming>;
  readonly cacheRetry_ms?: number;
  readonly historyCap?: number;
  readonly random?: () => number;
  readonly mayConnect?: () => boolean;
  readonly litefsDir?: string;
  readonly positionsDir?: string;
}

export async function startReplicationAgent(options: ReplicationAgentOptions = {}): Promise<ReplicationAgent> {
  const stateDir = options.stateDir ?? tempDir();
  const clock = systemClock;
  const board = createPartBoard(clock);
  const hub = createEventHub({ clock, generation: () => 1, sequence: { load: () => 0, reserve: () => undefined } });
  const events: AgentEvent[] = [];
  hub.subscribe({ onEvent: (event) => events.push(event) });
  const upstream = createUpstream();
  const replication = createReplication({
    clock,
    random: options.random ?? randomFraction,
    hub,
    part: board.part('replication'),
    log: silentLog,
    upstream,
    config: {
      nodeUrl: options.nodeUrl,
      stateDir,
      litefsDir: options.litefsDir,
      positionsDir: options.positionsDir,
    },
    mayConnect: options.mayConnect ?? (() => true),
    ...(options.timing === undefined ? {} : { timing: options.timing }),
    ...(options.historyCap === undefined ? {} : { historyCap: options.historyCap }),
    ...(options.cacheRetry_ms === undefined ? {} : { cacheRetry_ms: options.cacheRetry_ms }),
  });
  const { path } = await serveEdge(replicationOperations, replication.handlers);
  const abort = new AbortController();
  await replication.start(abort.signal);
  // The thread of the cache may start later on a busy machine; what comes before that is a gap of its history.
  await eventually(() => replication.status().cache.state !== 'failed');

  let stopped: Promise<void> | undefined;
  async function end(): Promise<void> {
    abort.abort();
    await replication[Symbol.asyncDispose]();
    await upstream[Symbol.asyncDispose]();
  }
  const stop = () => {
    stopped ??= end();
    return stopped;
  };
  onTestFinished(stop);
  return {
    replication,
    upstream,
    path,
    stateDir,
    events,
    part: () => board.statuses().replication,
    get: (target) => ask(path, { target }),
    read: (target) => readLines(target, path),
    async reaches(db, id) {
      const txID = id.toString(16).padStart(16, '0');
      await eventually(async () => {
        const { databases } = await replication.wholeStatus();
        return databases.some((entry) => entry.db === db && entry.txID === txID);
      });
    },
    async connected() {
      await eventually(() => replication.status().connection.state === 'following');
    },
    stop,
  };
}
