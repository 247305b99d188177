// The thread that owns replication.db.
import { createDatabaseThread, type DatabaseThread } from '../../database-thread/database-thread.ts';
import type { CacheAnswer, CacheRequest } from './cache-request.ts';

export function createCacheThread(path: string, idle_ms?: number): DatabaseThread<CacheRequest, CacheAnswer> {
  return createDatabaseThread({
    script: new URL('./cache-worker.ts', import.meta.url),
    data: path,
    file: 'replication.db',
    // The batches of a second are a few megabytes, so a heap that grows beyond this has a fault.
    maxOldGenerationSizeMb: 128,
    maxYoungGenerationSizeMb: 4,
    isMemory: (answer) => (answer.type === 'opened' ? answer.state === 'memory' : undefined),
    idle_ms,
  });
}
