// A full disk, as the error of an operation on checkpoints.
import { RemoraError } from '../../../core/remora-error.ts';

/** `storage_full` for a full disk, any other error as it is. The records are small, but they need room too. */
export function toStorageFull(error: unknown): unknown {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (code !== 'ENOSPC' && code !== 'EDQUOT') return error;
  return new RemoraError('storage_full', 'the disk of the machines is full; nothing was changed', { cause: error });
}
