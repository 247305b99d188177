// The answers of one connection on their way to the parser that reads them, one exchange at a time. Nothing is read ahead of
// the parser: the chunks of an answer are followed and joined only once the parser has met its head. Of a read that holds such
// a head, a few bytes go to the parser with it, and the rest waits until then.
import { ChunkBody, Rewritten } from './chunk-body.ts';

/** A smaller read costs little, however finely it is cut. */
const HOLD_ABOVE_BYTES = 4 * 1024;

export class AnswerJoiner {
  /** Passes the bytes that were held back to the parser, soon. */
  readonly #release: (bytes: Buffer) => void;
  /** The bytes of the exchange that came before the parser met the head of its answer. */
  #early: Buffer[] | undefined;
  #held: Buffer[] = [];
  #body: ChunkBody | undefined;
  #isFine = false;

  constructor(release: (bytes: Buffer) => void) {
    this.#release = release;
  }

  /** True when the last read was cut finely. */
  get isFine(): boolean {
    return this.#isFine;
  }

  /** A request goes out; the next byte that arrives belongs to its answer. */
  begin(): void {
    this.#isFine = false;
    this.#early = [];
    this.#body = undefined;
  }

  /** The parser met a head; while its status is below 200, more heads follow. */
  onHead(status: number, isChunked: boolean): void {
    const early = this.#early;
    if (early === undefined) return;
    const isLast = status >= 200 || status === 101;
    const isFollowed = isChunked && status >= 200;
    const rest = isLast && !isFollowed ? undefined : afterHead(early);
    this.#early = isLast || rest === undefined ? undefined : [rest];
    if (isFollowed && rest !== undefined) {
      const body = new ChunkBody(true);
      body.follow(rest, 0);
      this.#keep(body);
    }
    for (const held of this.#held.splice(0)) {
      const bytes = this.push(held);
      if (bytes.length > 0) this.#release(bytes);
    }
  }

  /** The bytes to give to the parser in place of `read`; empty for none yet. */
  push(read: Buffer): Buffer {
    if (this.#held.length > 0) {
      this.#held.push(read);
      return EMPTY;
    }
    if (this.#body !== undefined) {
      const rewritten = new Rewritten(read);
      this.#body.follow(read, 0, rewritten);
      this.#isFine = rewritten.isFine;
      this.#keep(this.#body);
      return rewritten.result();
    }
    if (this.#early === undefined) return read;
    const isLong = read.length > HOLD_ABOVE_BYTES;
    const rest_bytes = isLong ? restOfChunkedHead(Buffer.concat([...this.#early, read])) : 0;
    const now = rest_bytes === 0 ? read : read.subarray(0, read.length - rest_bytes);
    if (rest_bytes > 0) this.#held.push(read.subarray(read.length - rest_bytes));
    this.#early.push(now);
    return now;
  }

  /** The bytes that were held back, for a parser that will not meet another head. */
  takeLast(): Buffer[] {
    return this.#held.splice(0);
  }

  #keep(body: ChunkBody): void {
    this.#body = body.isOver || body.isBroken ? undefined : body;
  }
}

const EMPTY = Buffer.alloc(0);

/**
 * How many bytes follow the head in `bytes`, if it may be the head of a chunked answer and they are more than a few; else 0.
 */
function restOfChunkedHead(bytes: Buffer): number {
  for (let from = 0; ; ) {
    const end = bytes.indexOf('\r\n\r\n', from, 'latin1');
    const rest_bytes = bytes.length - end - 4;
    if (end < 0 || rest_bytes <= HOLD_ABOVE_BYTES) return 0;
    const head = bytes.toString('latin1', from, end).trimStart().toLowerCase();
    if (!head.startsWith('http/1.1 1')) return head.includes('\r\ntransfer-encoding:') ? rest_bytes : 0;
    from = end + 4;
  }
}

function afterHead(early: readonly Buffer[]): Buffer | undefined {
  const bytes = early.length === 1 && early[0] !== undefined ? early[0] : Buffer.concat(early);
  let from = 0;
  // A parser skips empty lines before an answer.
  while (bytes[from] === 0x0d || bytes[from] === 0x0a) from += 1;
  const end = bytes.indexOf('\r\n\r\n', from, 'latin1');
  return end < 0 ? undefined : bytes.subarray(end + 4);
}
