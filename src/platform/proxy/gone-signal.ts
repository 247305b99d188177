// A signal that follows the caller.
import type { ServerResponse } from 'node:http';
import { RemoraError } from '../../core/remora-error.ts';

/** Aborts when the caller is gone. */
export function toGoneSignal(response: ServerResponse): AbortSignal {
  const gone = new AbortController();
  const end = () => gone.abort(new RemoraError('upstream_failed', 'the caller went away'));
  if (response.destroyed) end();
  else response.once('close', end);
  return gone.signal;
}
