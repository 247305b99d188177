// The caller's request body on its way upstream: none, a small one in one piece, or a stream with a cap that is counted while
// it passes. A small body is collected first, because one write costs less and can be repeated.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { Pieces } from '../core/http/pieces.ts';
import { RemoraError } from '../core/remora-error.ts';

export const COLLECT_MAX_BYTES = 64 * 1024;
/** A caller that sends nothing for this time while a body is due is taken to be gone. */
export const BODY_IDLE_MS = 60_000;
/** How many bytes may wait here while the upstream takes none. */
const AHEAD_BYTES = 64 * 1024;

interface BodyLimits {
  readonly cap_bytes: number;
  /** How long the caller may send nothing while its body is incomplete. */
  readonly idle_ms: number;
}

export interface CallerBody {
  /** The body for one try. Each try gets a stream of its own, and only the first may have been read from. */
  open(): Buffer | Readable | null;
  /** Bytes taken from the caller so far. */
  readonly bytes: number;
  /** True while another try would send the same body. */
  readonly repeatable: boolean;
  /** Lets go of the request; the rest of its body is for another part to read. */
  close(): void;
}

/**
 * Throws `payload_too_large` when the declared length is over the cap, and `timeout` when the caller goes silent; a stream
 * fails with the same errors. A caller that asked whether to send its body gets the
 * 100 when the body is first read. `undefined` when the caller went away
 * before a small body was complete.
 */
export function readCallerBody(
  request: IncomingMessage,
  response: ServerResponse,
  cap_bytes: number,
  idle_ms = BODY_IDLE_MS,
): CallerBody | Promise<CallerBody | undefined> {
  const declared_bytes = Number(request.headers['content-length'] ?? 0);
  if (declared_bytes > cap_bytes) throw tooLarge(cap_bytes);
  const isChunked = request.headers['transfer-encoding'] !== undefined;
  if (!isChunked && declared_bytes === 0) return noBody;
  const isAsking = request.headers.expect !== undefined;
  if (isChunked || isAsking || declared_bytes > COLLECT_MAX_BYTES) {
    return new StreamedBody(request, { cap_bytes, idle_ms }, isAsking ? response : undefined);
  }
  return collectBody(request, idle_ms);
}

const noBody: CallerBody = { open: () => null, bytes: 0, repeatable: true, close: () => undefined };

async function collectBody(request: IncomingMessage, idle_ms: number): Promise<CallerBody | undefined> {
  const buffer = await collect(request, idle_ms);
  return buffer && wholeBody(buffer);
}

/** One that was read before. */
export function wholeBody(bytes: Buffer): CallerBody {
  return { open: () => bytes, bytes: bytes.length, repeatable: true, close: () => undefined };
}

class StreamedBody implements CallerBody {
  readonly #request: IncomingMessage;
  readonly #limits: BodyLimits;
  /** Whose caller waits for a 100. */
  #asking: ServerResponse | undefined;
  #stream: Readable | undefined;
  bytes = 0;

  constructor(request: IncomingMessage, limits: BodyLimits, asking: ServerResponse | undefined) {
    this.#request = request;
    this.#limits = limits;
    this.#asking = asking;
  }

  get repeatable(): boolean {
    return this.bytes === 0;
  }

  open(): Readable {
    this.#stream?.destroy();
    const request = this.#request;
    const { cap_bytes, idle_ms } = this.#limits;
    const waiting = new Pieces({ isOwner: true });
    let isWanted = false;
    let isComplete = false;
    const pass = () => {
      if (waiting.bytes > 0) isWanted = stream.push(waiting.take());
      if (isComplete && waiting.bytes === 0) stream.push(null);
    };
    const onData = (chunk: Buffer) => {
      this.bytes += chunk.length;
      if (this.bytes > cap_bytes) {
        stream.destroy(tooLarge(cap_bytes));
        return;
      }
      silence.refresh();
      waiting.push(chunk);
      if (isWanted) pass();
      if (waiting.bytes >= AHEAD_BYTES) request.pause();
    };
    const onEnd = () => {
      isComplete = true;
      clearTimeout(silence);
      if (isWanted || waiting.bytes === 0) pass();
    };
    const onClose = () => {
      // What has come and was not read is gone with it.
      if (!isComplete) stream.destroy(new Error('the caller went away'));
    };
    // Only one read waits in the stream at a time: pieces that arrive meanwhile are joined.
    const stream = new Readable({
      highWaterMark: 1,
      read: () => {
        this.#askForIt();
        isWanted = true;
        pass();
        silence.refresh();
        request.resume();
      },
      destroy: (error, done) => {
        clearTimeout(silence);
        request.off('data', onData).off('end', onEnd).off('close', onClose);
        done(error);
      },
    });
    // A caller that is held back by the upstream is not silent.
    const silence = setTimeout(() => {
      if (request.isPaused()) silence.refresh();
      else stream.destroy(tooSilent(idle_ms));
    }, idle_ms);
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

  #askForIt(): void {
    const asking = this.#asking;
    this.#asking = undefined;
    if (asking?.headersSent === false) asking.writeContinue();
  }
}

function collect(request: IncomingMessage, idle_ms: number): Promise<Buffer | undefined> {
  return new Promise((resolve, reject) => {
    const pieces = new Pieces();
    const onData = (piece: Buffer) => {
      silence.refresh();
      pieces.push(piece);
    };
    const onEnd = () => finish(() => resolve(pieces.take()));
    const onClose = () => finish(() => resolve(undefined));
    const silence = setTimeout(() => finish(() => reject(tooSilent(idle_ms))), idle_ms);
    function finish(settle: () => void): void {
      clearTimeout(silence);
      request.off('data', onData).off('end', onEnd).off('close', onClose);
      settle();
    }
    request
      .on('data', onData)
      .on('end', onEnd)
      .on('close', onClose)
      .on('error', () => undefined);
  });
}

function tooLarge(cap_bytes: number): RemoraError {
  return new RemoraError('payload_too_large', `the body may have at most ${cap_bytes} bytes`);
}

function tooSilent(idle_ms: number): RemoraError {
  return new RemoraError('timeout', `the body is not complete, and nothing of it came for ${idle_ms} ms`);
}
