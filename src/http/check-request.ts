// The conditions that every request must meet before its operation is looked up: a path as target, of bounded length, and one
// Host.
import { RemoraError } from '../core/remora-error.ts';

export const TARGET_CAP_BYTES = 8 * 1024;

export interface RequestHead {
  readonly url?: string | undefined;
  readonly httpVersion: string;
  /** Names and values in turn, as they were sent. */
  readonly rawHeaders: readonly string[];
}

/** Throws `target_too_long`, `invalid_target` or `invalid_request`. */
export function checkRequest(request: RequestHead): void {
  const target = request.url ?? '';
  if (target.length > TARGET_CAP_BYTES) {
    throw new RemoraError('target_too_long', `the request target may have at most ${TARGET_CAP_BYTES} bytes`);
  }
  if (!target.startsWith('/')) {
    throw new RemoraError('invalid_target', 'the request target must be a path that begins with "/"');
  }
  let hosts = 0;
  for (let index = 0; index < request.rawHeaders.length; index += 2) {
    const name = request.rawHeaders[index] ?? '';
    if (name.length === 4 && name.toLowerCase() === 'host') hosts += 1;
  }
  if (hosts > 1) throw new RemoraError('invalid_request', 'the request has more than one Host header');
  if (hosts < 1 && request.httpVersion === '1.1') {
    throw new RemoraError('invalid_request', 'an HTTP/1.1 request needs a Host header; any value will do');
  }
}
