// The replication part of an agent in a process of its own: `agent.ts SOCKET STATE_DIR NODE_URL`. Any message makes it say what
// it has cost since the last one.
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { pino } from 'pino';
import { createEventHub } from '../../../src/agent/events/event-hub.ts';
import { createPartBoard } from '../../../src/agent/parts.ts';
import { createReplication } from '../../../src/agent/replication/replication.ts';
import { createUpstream } from '../../../src/agent/upstream.ts';
import { replicationOperations } from '../../../src/contract/local/replication.ts';
import { systemClock } from '../../../src/core/clock.ts';
import { randomFraction } from '../../../src/core/urandom.ts';
import { createEdge } from '../../../src/http/edge.ts';
import { listenOnPath } from '../../../src/http/listen.ts';
import type { Reading } from './messages.ts';

const RESOLUTION_MS = 2;

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
const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
let cpu = process.cpuUsage();

process.on('message', () => {
  const used = process.cpuUsage(cpu);
  cpu = process.cpuUsage();
  const { counts, cache, readers, waiters } = replication.status();
  const over = (nanoseconds: number) => Math.max(0, nanoseconds / 1e6 - RESOLUTION_MS);
  const reading: Reading = {
    type: 'reading',
    rss_bytes: process.memoryUsage.rss(),
    cpu_ms: (used.user + used.system) / 1_000,
    loop_p50_ms: over(delay.percentile(50)),
    loop_p99_ms: over(delay.percentile(99)),
    loop_max_ms: over(delay.max),
    transactions: counts.transactions,
    gaps: counts.gaps,
    cache: cache.state,
    readers,
    waiters,
  };
  delay.reset();
  process.send?.(reading);
});
process.once('disconnect', () => process.exit(0));
await listenOnPath(edge.createServer('socket'), { path, mode: 0o600 });
await replication.start(new AbortController().signal);
delay.enable();
process.send?.({ type: 'ready' });
