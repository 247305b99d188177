// The replication part of an agent alone, as the whole of a process: for programs that a test kills or a benchmark loads.
import { createEventHub } from '../../src/agent/events/event-hub.ts';
import { createPartBoard } from '../../src/agent/parts.ts';
import { createReplication, type Replication } from '../../src/agent/replication/replication.ts';
import { createUpstream } from '../../src/agent/upstream.ts';
import { replicationOperations } from '../../src/contract/local/replication.ts';
import { systemClock } from '../../src/core/clock.ts';
import { randomFraction } from '../../src/core/urandom.ts';
import { createEdge } from '../../src/http/edge.ts';
import { listenOnPath } from '../../src/http/listen-on-path.ts';
import { silentLog } from './silent-log.ts';

/** `words` are SOCKET STATE_DIR NODE_URL. Resolves when the socket serves and the cache is open; it runs until the process ends. */
export async function serveReplication([
  path = '',
  stateDir = '',
  nodeUrl = '',
]: readonly string[]): Promise<Replication> {
  const log = silentLog;
  const replication = createReplication({
    clock: systemClock,
    random: randomFraction,
    hub: createEventHub({
      clock: systemClock,
      generation: () => 1,
      sequence: { load: () => 0, reserve: () => undefined },
    }),
    part: createPartBoard(systemClock).part('replication'),
    log,
    upstream: createUpstream(),
    config: { nodeUrl, stateDir },
    mayConnect: () => true,
  });
  const edge = createEdge({
    operations: replicationOperations,
    handlers: replication.handlers,
    authenticate: () => undefined,
    log,
  });
  await listenOnPath(edge.createServer('socket'), { path, mode: 0o600 });
  await replication.start(new AbortController().signal);
  return replication;
}
