// What a call to a process of one's own kind has failed with, as the error for whom the call was made.
import type { ErrorCode } from '../contract/errors.ts';
import { RemoraError } from '../core/remora-error.ts';
import { UpstreamError } from './upstream-error.ts';

export interface RefusalWords {
  /** Codes that mean the same to the caller. Their details are passed on. */
  readonly passedOn: readonly ErrorCode[];
  /** Says to people that the other process may be of a version without the operation, and what it would have to be. */
  readonly tooOld?: { readonly message: string; readonly missing: string };
  /** Says to people that it does not answer as it should. The reason follows. */
  readonly failed: string;
}

const NOT_FOUND = 404;

/** `not_supported` with what is missing for an operation that is not there; `upstream_timeout` and `upstream_failed` for all else. */
export function toRefusal(error: unknown, { passedOn, tooOld, failed }: RefusalWords): unknown {
  if (!(error instanceof UpstreamError)) return error;
  const { code, message, details, status } = error;
  const own = passedOn.find((each) => each === code);
  if (own !== undefined) return new RemoraError(own, message, { details, cause: error });
  if (status === NOT_FOUND && tooOld !== undefined) {
    return new RemoraError('not_supported', tooOld.message, { details: { missing: tooOld.missing } });
  }
  const how = code === 'timeout' ? 'upstream_timeout' : 'upstream_failed';
  return new RemoraError(how, `${failed}: ${message}`, { cause: error });
}
