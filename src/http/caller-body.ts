// The caller's request body on its way upstream: nothing, a small one in one piece, or a stream with a cap that is counted
// while it passes. A small one is collected first, because one write costs less and can be repeated when none was made.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { RemoraError } from '../core/remora-error.ts';

export const COLLECT_MAX_BYTES = 64 * 1024;

export interface CallerBody {
  /** What to hand to one try. A stream is made anew for each, and only the first may have been read from. */
  open(): Buffer | Readable | null;
  /** Bytes taken from the caller so far. */
  readonly bytes: number;
  /** True while another try would send the same body. */
  readonly repeatable: boolean;
  /** Lets go of the request; what is left of its body is for somebody else to read. */
  close(): void;
}

/**
 * Throws `payload_too_large` when the declared length is over the cap; a stream fails with it when it grows over it. A caller
 * that asked whether to send its body is told to. `undefined` when the caller went away before a small body was complete.
 */
export function readCallerBody(
  request: IncomingMessage,
  response: ServerResponse,
  cap_bytes: number,
): CallerBody | Promise<CallerBody | undefined> {
  const declared_bytes = Number(request.headers['content-length'] ?? 0);
  if (declared_bytes > cap_bytes) throw tooLarge(cap_bytes);
  if (request.headers.expect !== undefined) response.writeContinue();
  if (request.headers['transfer-encoding'] !== undefined) return new StreamedBody(request, cap_bytes);
  if (declared_bytes === 0) return noBody;
  if (declared_bytes > COLLECT_MAX_BYTES) return new StreamedBody(request, cap_bytes);
  return collectBody(request);
}

const noBody: CallerBody = { open: () => null, bytes: 0, repeatable: true, close: () => undefined };

async function collectBody(request: IncomingMessage): Promise<CallerBody | undefined> {
  const buffer = await collect(request);
  return buffer && { open: () => buffer, bytes: buffer.length, repeatable: true, close: () => undefined };
}

class StreamedBody implements CallerBody {
  readonly #request: IncomingMessage;
  readonly #cap_bytes: number;
  #stream: Readable | undefined;
  bytes = 0;

  constructor(request: IncomingMessage, cap_bytes: number) {
    this.#request = request;
    this.#cap_bytes = cap_bytes;
  }

  get repeatable(): boolean {
    return this.bytes === 0;
  }

  open(): Readable {
    const request = this.#request;
    this.#stream?.destroy();
    const onData = (chunk: Buffer) => {
      this.bytes += chunk.length;
      if (this.bytes > this.#cap_bytes) stream.destroy(tooLarge(this.#cap_bytes));
      else if (!stream.push(chunk)) request.pause();
    };
    const onEnd = () => stream.push(null);
    const onClose = () => {
      if (!request.complete) stream.destroy(new Error('the caller went away'));
    };
    const stream = new Readable({
      read: () => request.resume(),
      destroy: (error, done) => {
        request.off('data', onData).off('end', onEnd).off('close', onClose);
        done(error);
      },
    });
    stream.on('error', () => undefined);
    request
      .on('data', onData)
      .on('end', onEnd)
      .on('close', onClose)
      .on('error', () => undefined);
    request.pause();
    this.#stream = stream;
    return stream;
  }

  close(): void {
    this.#stream?.destroy();
  }
}

function collect(request: IncomingMessage): Promise<Buffer | undefined> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.once('end', () => resolve(Buffer.concat(chunks)));
    request.once('close', () => resolve(undefined));
    request.on('error', () => undefined);
  });
}

function tooLarge(cap_bytes: number): RemoraError {
  return new RemoraError('payload_too_large', `the body may have at most ${cap_bytes} bytes`);
}
