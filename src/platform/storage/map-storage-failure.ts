// What a failure of the storage (no answer from the database, a full or broken disk) is to a caller: it passes, and the request was
// not at fault. Pure.
import { errorStatus } from '../../contract/errors.ts';
import type { KnownError } from '../../http/error-answer.ts';
import { StorageFailure } from './storage.ts';

const RETRY_MS = 5_000;

/** `not_ready` for a `StorageFailure`; undefined for any other error. */
export function mapStorageFailure(error: unknown): KnownError | undefined {
  if (!(error instanceof StorageFailure)) return undefined;
  const message = 'the platform cannot use its database now; try again';
  return { status: errorStatus.not_ready, code: 'not_ready', message, retryAfter_ms: RETRY_MS };
}
