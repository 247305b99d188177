// Gateway calls that the listener refused for want of a valid token. Each is counted; only a few are recorded, because a caller
// without a token must not be able to push the records of others out of the log.
import type { IncomingMessage } from 'node:http';
import { errorStatus } from '../../contract/errors.ts';
import type { RemoraError } from '../../core/remora-error.ts';
import { createTokenBucket } from '../../core/token-bucket.ts';
import type { AuditLog } from './audit/audit-log.ts';
import { toEmptyEntry } from './audit/empty-audit-entry.ts';
import type { CallMetrics } from './call-metrics.ts';

const BURST = 20;
const PER_SECOND = 0.1;

export interface AccessRefusalsOptions {
  readonly audit: Pick<AuditLog, 'add'>;
  readonly metrics: Pick<CallMetrics, 'add'>;
  readonly now_ms: () => number;
}

export type OnAccessRefusal = (request: Pick<IncomingMessage, 'method' | 'url'>, error: RemoraError) => void;

export function createAccessRefusals({ audit, metrics: meter, now_ms }: AccessRefusalsOptions): OnAccessRefusal {
  const bucket = createTokenBucket({ capacity: BURST, refillPerSecond: PER_SECOND, now_ms });
  return (request, { code }) => {
    const entry = { ...toEmptyEntry(request), code, status: errorStatus[code] };
    meter.add(entry);
    if (bucket.take()) audit.add(entry);
  };
}
