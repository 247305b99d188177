// What runs in the thread that owns gateway-log.db. It imports no more than it needs, because a thread has a heap of its own.
import { workerData } from 'node:worker_threads';
import { openDatabaseOrMemory, SMALL_PAGE_CACHE_BYTES } from '../../../sqlite/open.ts';
import { serveRequests } from '../../database-thread/serve-requests.ts';
import { auditSchema } from '../gateway-schema.ts';
import { createAuditStore } from './audit-store.ts';
import type { AuditThreadData } from './audit-thread.ts';

const { path, ...limits }: AuditThreadData = workerData;
const options = { migrations: auditSchema, pageCache_bytes: SMALL_PAGE_CACHE_BYTES };
serveRequests(createAuditStore(() => openDatabaseOrMemory(path, options), limits));
