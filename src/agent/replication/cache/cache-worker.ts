// What runs in the thread that owns replication.db. It imports no more than it needs, because a thread has a heap of its own.
import { workerData } from 'node:worker_threads';
import { openDatabaseOrMemory, SMALL_PAGE_CACHE_BYTES } from '../../../sqlite/open.ts';
import { serveRequests } from '../../database-thread/serve-requests.ts';
import { replicationSchema } from './cache-schema.ts';
import { createCacheStore } from './cache-store.ts';

const path = String(workerData);
const options = { migrations: replicationSchema, pageCache_bytes: SMALL_PAGE_CACHE_BYTES };
serveRequests(createCacheStore(() => openDatabaseOrMemory(path, options)));
