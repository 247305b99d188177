// The thread that owns gateway-log.db.
import { createDatabaseThread, type DatabaseThread } from '../../database-thread/database-thread.ts';
import type { AuditAnswer, AuditRequest } from './audit-request.ts';
import type { AuditLimits } from './audit-table.ts';

export interface AuditThreadData extends AuditLimits {
  readonly path: string;
}

export function createAuditThread(data: AuditThreadData, idle_ms?: number): DatabaseThread<AuditRequest, AuditAnswer> {
  return createDatabaseThread({
    script: new URL('./audit-worker.ts', import.meta.url),
    data,
    file: 'gateway-log.db',
    maxOldGenerationSizeMb: 64,
    maxYoungGenerationSizeMb: 2,
    isMemory: (answer) => (answer.type === 'written' ? answer.problem !== undefined : undefined),
    idle_ms,
  });
}
