// The replication part of an agent in a process of its own: `agent.ts SOCKET STATE_DIR NODE_URL`. Any message makes it say what
// it has cost since the last one; with `collect` after a collection.
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { serveReplication } from '../../support/serve-replication.ts';
import type { Reading } from './messages.ts';

const RESOLUTION_MS = 2;

const replication = await serveReplication(process.argv.slice(2));
const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
let cpu = process.cpuUsage();

process.on('message', (word) => {
  if (word === 'collect') globalThis.gc?.();
  const used = process.cpuUsage(cpu);
  cpu = process.cpuUsage();
  const { counts, cache, readers, waiters } = replication.status();
  const { rss, heapUsed, external } = process.memoryUsage();
  const over = (nanoseconds: number) => Math.max(0, nanoseconds / 1e6 - RESOLUTION_MS);
  const reading: Reading = {
    type: 'reading',
    rss_bytes: rss,
    heap_bytes: heapUsed,
    buffers_bytes: external,
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
delay.enable();
process.send?.({ type: 'ready' });
