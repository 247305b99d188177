// The thread that owns replication.db: a disk that stalls stalls this thread and not the socket. It imports no more than it
// needs, because a thread has a heap of its own.
import { parentPort, workerData } from 'node:worker_threads';
import { openDatabaseOrMemory } from '../../../sqlite/open.ts';
import type { CacheRequest } from './cache-request.ts';
import { replicationSchema } from './cache-schema.ts';
import { createCacheStore } from './cache-store.ts';

const path = String(workerData);
const store = createCacheStore(() => openDatabaseOrMemory(path, { migrations: replicationSchema }));
parentPort?.on('message', (request: CacheRequest | 'close') => {
  if (request !== 'close') {
    parentPort?.postMessage(store.answer(request));
    return;
  }
  store[Symbol.dispose]();
  parentPort?.close();
});
