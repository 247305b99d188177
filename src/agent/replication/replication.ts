// Puts the replication part of the agent together: follower, replica in memory, cache, readers and waiters.
// replication-handlers.ts has its operations. What follows a node is loaded when there is one to follow.
import type { ReplicationStatus, replicationOperations } from '../../contract/local/replication.ts';
import type { Handlers } from '../../http/handler.ts';
import { listPositions } from './list-positions.ts';
import type { OpenedFollowing } from './open-following.ts';
import { createReplicationHandlers } from './replication-handlers.ts';
import type { ReplicationOptions } from './replication-options.ts';
import { type ReplicationSummary, toReplicationSummary } from './replication-status.ts';

export interface Replication extends AsyncDisposable {
  readonly handlers: Handlers<typeof replicationOperations, unknown>;
  /** Opens the cache and follows the node until `signal` aborts. Resolves when the cache is open, or did not open in time. */
  start(signal: AbortSignal): Promise<void>;
  /** Drops a connection from before the resume and connects. Resolves when `init` was read, rejects when that attempt failed. */
  recover(): Promise<void>;
  /** Writes the cache to its file, before the machine is suspended. */
  settle(): Promise<void>;
  /** The answer of GET /v1/replication without the databases. */
  status(): ReplicationSummary;
  /** The whole answer. It takes several turns of the loop where there are many databases. */
  wholeStatus(): Promise<ReplicationStatus>;
  /** Whether the node is the primary; undefined while it is not connected or knows no primary. */
  isPrimary(): boolean | undefined;
}

export function createReplication(options: ReplicationOptions): Replication {
  const { clock, config, part } = options;
  const created_ms = clock.wall_ms();
  const stop = new AbortController();
  let following: OpenedFollowing | undefined;
  let starting: Promise<void> | undefined;
  /** What does not work with the two directories: by the trouble, the text with its reason. */
  const complaints = new Map<string, string>();

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

  function status(): ReplicationSummary {
    return toReplicationSummary(following ?? (starting === undefined ? 'off' : 'idle'), created_ms, clock.wall_ms());
  }

  async function wholeStatus(): Promise<ReplicationStatus> {
    const databases = following === undefined ? [] : await listPositions(following, clock);
    return { ...status(), databases: [...databases] };
  }

  async function open(node: URL): Promise<void> {
    const { openFollowing } = await import('./open-following.ts');
    following = await openFollowing({ ...options, node, signal: stop.signal, complain, onChange: updatePart });
    updatePart();
  }

  return {
    handlers: createReplicationHandlers({
      clock,
      async following() {
        await starting;
        return following;
      },
      status: wholeStatus,
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
      starting = open(node);
      await starting;
    },
    recover: async () => following?.follower.recover(),
    settle: async () => following?.cache.rest(),
    status,
    wholeStatus,
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
