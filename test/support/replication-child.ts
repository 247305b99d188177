// The replication part of an agent in a process of its own, so that it can be killed:
// `replication-child.ts SOCKET STATE_DIR NODE_URL`.
import { pino } from 'pino';
import { createEventHub } from '../../src/agent/events/event-hub.ts';
import { createPartBoard } from '../../src/agent/parts.ts';
import { createReplication } from '../../src/agent/replication/replication.ts';
import { createUpstream } from '../../src/agent/upstream.ts';
import { replicationOperations } from '../../src/contract/local/replication.ts';
import { systemClock } from '../../src/core/clock.ts';
import { randomFraction } from '../../src/core/urandom.ts';
import { createEdge } from '../../src/http/edge.ts';
import { listenOnPath } from '../../src/http/listen.ts';

const [path = '', stateDir = '', nodeUrl = ''] = process.argv.slice(2);
const log = pino({ level: 'silent' });
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
replication.start(new AbortController().signal);
console.log('started');
