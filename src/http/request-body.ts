// The bytes of a request body that is parsed as a whole: judged by its headers, then read within a cap and a deadline.
import type { IncomingMessage } from 'node:http';
import { Pieces } from '../core/http/pieces.ts';
import { RemoraError } from '../core/remora-error.ts';

/** The cap of a body whose operation names none. */
export const BODY_CAP_BYTES = 1024 * 1024;
/** How long a body may take where the edge says nothing else. */
const BODY_DEADLINE_MS = 30_000;

export interface BodyForm {
  readonly type: 'json' | 'form';
  readonly cap_bytes: number;
}

/** Judges a body by its headers, before any byte of it is read. Throws 413 or 415. */
export function checkBody(request: IncomingMessage, { type, cap_bytes }: BodyForm): void {
  const declared_bytes = Number(request.headers['content-length'] ?? 0);
  if (declared_bytes > cap_bytes) throw tooLarge(cap_bytes);
  if (declared_bytes === 0 && request.headers['transfer-encoding'] === undefined) return;
  const wanted = type === 'json' ? 'application/json' : 'application/x-www-form-urlencoded';
  const given = (request.headers['content-type'] ?? '').split(';')[0]?.trim().toLowerCase() ?? '';
  if (given === wanted || (type === 'json' && /^application\/[\w.-]+\+json$/.test(given))) return;
  throw new RemoraError(
    'unsupported_media_type',
    `the body must be ${wanted}, not ${given || 'of an unnamed type'}; send -H 'content-type: ${wanted}'`,
  );
}

/** All bytes of the body. Rejects with 400, 408 after `deadline_ms`, or 413. */
export function readBody(
  request: IncomingMessage,
  { cap_bytes }: Pick<BodyForm, 'cap_bytes'>,
  deadline_ms = BODY_DEADLINE_MS,
): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const pieces = new Pieces();
    const onData = (chunk: Buffer) => {
      pieces.push(chunk);
      if (pieces.bytes > cap_bytes) finish(() => reject(tooLarge(cap_bytes)));
    };
    const onEnd = () => finish(() => resolve(pieces.take()));
    const onClose = () => finish(() => reject(new RemoraError('invalid_request', 'the body ended early')));
    const deadline = setTimeout(() => {
      finish(() => reject(new RemoraError('timeout', `the body took more than ${deadline_ms} ms`)));
    }, deadline_ms);
    function finish(settle: () => void): void {
      clearTimeout(deadline);
      request.off('data', onData).off('end', onEnd).off('close', onClose).pause();
      settle();
    }
    request.on('data', onData).once('end', onEnd).once('close', onClose);
    if (request.destroyed) onClose();
  });
}

function tooLarge(cap_bytes: number): RemoraError {
  return new RemoraError('payload_too_large', `the body may have at most ${cap_bytes} bytes`);
}
