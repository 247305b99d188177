// The thread that owns gateway-log.db: a disk that stalls stalls this thread and no call. It imports no more than it needs,
// because a thread has a heap of its own.
import { parentPort, workerData } from 'node:worker_threads';
import { openDatabaseOrMemory } from '../../../sqlite/open.ts';
import { auditSchema } from '../gateway-schema.ts';
import type { AuditRequest } from './audit-request.ts';
import { createAuditStore } from './audit-store.ts';
import type { AuditThreadData } from './audit-thread.ts';

const { path, ...limits }: AuditThreadData = workerData;
const store = createAuditStore(() => openDatabaseOrMemory(path, { migrations: auditSchema }), limits);
parentPort?.on('message', (request: AuditRequest | 'close') => {
  if (request !== 'close') {
    parentPort?.postMessage(store.answer(request));
    return;
  }
  store[Symbol.dispose]();
  parentPort?.close();
});
