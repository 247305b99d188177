// Calls that were refused at the door, for want of a good token: counted each time, and recorded as long as there are few. Whoever
// has no token must not be able to push the records of others out of the log.
import type { IncomingMessage } from 'node:http';
import { errorStatus } from '../../contract/errors.ts';
import type { RemoraError } from '../../core/remora-error.ts';
import { createTokenBucket } from '../../core/token-bucket.ts';
import type { AuditLog } from './audit-log.ts';
import type { CallMeter } from './call-meter.ts';
import { toEmptyEntry } from './empty-entry.ts';

const BURST = 20;
const PER_SECOND = 0.1;

export interface DoorRefusalsOptions {
  readonly audit: Pick<AuditLog, 'add'>;
  readonly meter: Pick<CallMeter, 'add'>;
  readonly now_ms: () => number;
}

export type OnDoorRefusal = (request: Pick<IncomingMessage, 'method' | 'url'>, error: RemoraError) => void;

export function createDoorRefusals({ audit, meter, now_ms }: DoorRefusalsOptions): OnDoorRefusal {
  const bucket = createTokenBucket({ capacity: BURST, refillPerSecond: PER_SECOND, now_ms });
  return (request, { code }) => {
    const entry = { ...toEmptyEntry(request), code, status: errorStatus[code] };
    meter.add(entry);
    if (bucket.take()) audit.add(entry);
  };
}
