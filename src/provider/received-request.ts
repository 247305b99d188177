// A request as a server received it, in the form that every adapter can give.
import { Pieces } from '../core/http/pieces.ts';
import { RemoraError } from '../core/remora-error.ts';
import { withDeadline } from '../core/with-deadline.ts';

export interface ReceivedRequest {
  readonly method: string;
  /** Path and query, byte for byte where the server has them so. */
  readonly target: string;
  /** The value of a header, by its name in lower case. */
  header(name: string): string | undefined;
  /** All bytes. Rejects with `payload_too_large`, `timeout`, or `invalid_request` when the body ends early. */
  readBody(): Promise<Uint8Array>;
}

/** The platform’s requests have far less. */
export const BODY_CAP_BYTES = 64 * 1024;
export const BODY_LIMIT_MS = 10_000;

/** Reads a body within its cap and time. The rest of a longer one stays unread. */
export async function readCapped(
  body: AsyncIterable<Uint8Array>,
  { cap_bytes = BODY_CAP_BYTES, limit_ms = BODY_LIMIT_MS } = {},
): Promise<Uint8Array> {
  const reader = body[Symbol.asyncIterator]();
  const pieces = new Pieces();
  const readAll = async () => {
    for (;;) {
      const { done, value } = await reader.next();
      if (done === true) return pieces.take();
      pieces.push(Buffer.from(value.buffer, value.byteOffset, value.byteLength));
      if (pieces.bytes > cap_bytes) throw tooLarge(cap_bytes);
    }
  };
  try {
    const toLate = () => new RemoraError('timeout', `the body took more than ${limit_ms} ms`);
    return await withDeadline(limit_ms, readAll(), toLate);
  } catch (error) {
    if (error instanceof RemoraError) throw error;
    throw new RemoraError('invalid_request', 'the body ended early', { cause: error });
  } finally {
    // It may wait for a read that never ends, so that nobody waits for it.
    void reader.return?.()?.catch(() => undefined);
  }
}

export function tooLarge(cap_bytes = BODY_CAP_BYTES): RemoraError {
  return new RemoraError('payload_too_large', `the body is longer than ${cap_bytes} bytes`);
}
