// The answers of one connection on their way to the parser that reads them, one exchange at a time. Nothing is read ahead of
// the parser: the chunks of an answer are followed and joined only once the parser has met its head. Of a read that holds such
// a head, a few bytes go to the parser with it, and the rest waits until then.
import { ChunkBody, Rewritten } from './chunk-body.ts';

/** A smaller read costs little, however finely it is cut. */
const HOLD_ABOVE_BYTES = 4 * 1024;

export class AnswerJoiner {
  /** Passes the bytes that were held back to the parser, soon. */
  readonly #release: (bytes: Buffer) => void;
  /** The bytes that the parser was given since it met the last head of the exchange; undefined once it met that of the answer. */
  #early: Buffer | undefined;
  #rest: Buffer | undefined;
  #held: Buffer[] = [];
  #body: ChunkBody | undefined;
  #isFine = false;

  constructor(release: (bytes: Buffer) => void) {
    this.#release = release;
  }

  /** True when the last read was cut finely, and the answer goes on. */
  get isFine(): boolean {
    return this.#isFine;
  }

  /** True when `read` holds so much of informational heads that it has to wait for a turn of its own. */
  mustWait(read: Buffer): boolean {
    const early = this.#early;
    if (early === undefined || early.length + read.length <= HOLD_ABOVE_BYTES) return false;
    return isInformational(join(early, read));
  }

  /** A request goes out; the next byte that arrives belongs to its answer. */
  begin(): void {
    this.#isFine = false;
    this.#early = EMPTY;
    this.#body = undefined;
  }

  /** The parser met a head; while its status is below 200, more heads follow. */
  onHead(status: number, isChunked: boolean): void {
    const early = this.#early;
    if (early === undefined) return;
    if (status < 200 && status !== 101) {
      this.#early = afterHead(early);
      return;
    }
    this.#early = undefined;
    const rest = isChunked && status >= 200 ? afterHead(early) : undefined;
    if (rest !== undefined) {
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
      this.#keep(this.#body);
      // What comes behind the answer nobody has asked for. It does not wait: the next call would take it for its answer.
      this.#isFine = rewritten.isFine && this.#body !== undefined;
      return rewritten.result();
    }
    if (this.#early === undefined) return read;
    return this.#pushEarly(this.#early, read);
  }

  /**
   * What has to wait until the parser has met the informational head that the last read ends, empty when nothing came behind it;
   * undefined when it ends none.
   */
  takeRest(): Buffer | undefined {
    const rest = this.#rest;
    this.#rest = undefined;
    return rest;
  }

  /** The bytes that were held back, for a parser that will not meet another head. */
  takeLast(): Buffer[] {
    return this.#held.splice(0);
  }

  #pushEarly(early: Buffer, read: Buffer): Buffer {
    const bytes = join(early, read);
    const isHint = isInformational(bytes);
    const end = isHint ? endOfHead(bytes) : -1;
    if (end >= 0) {
      const taken_bytes = end - early.length;
      this.#early = bytes.subarray(0, end);
      this.#rest = read.subarray(taken_bytes);
      return read.subarray(0, taken_bytes);
    }
    const isLong = !isHint && read.length > HOLD_ABOVE_BYTES;
    const rest_bytes = isLong ? restOfChunkedHead(bytes) : 0;
    if (rest_bytes === 0) {
      this.#early = bytes;
      return read;
    }
    this.#held.push(read.subarray(read.length - rest_bytes));
    this.#early = bytes.subarray(0, bytes.length - rest_bytes);
    return read.subarray(0, read.length - rest_bytes);
  }

  #keep(body: ChunkBody): void {
    this.#body = body.isOver || body.isBroken ? undefined : body;
  }
}

const EMPTY = Buffer.alloc(0);
const CR = 0x0d;
const LF = 0x0a;
const ZERO = 0x30;
const ONE = 0x31;

function join(early: Buffer, read: Buffer): Buffer {
  return early.length === 0 ? read : Buffer.concat([early, read]);
}

/** How many bytes follow the head in `bytes`, if it is that of a chunked answer and they are more than a few; else 0. */
function restOfChunkedHead(bytes: Buffer): number {
  const end = endOfHead(bytes);
  const rest_bytes = bytes.length - end;
  if (end < 0 || rest_bytes <= HOLD_ABOVE_BYTES) return 0;
  return bytes.toString('latin1', 0, end).toLowerCase().includes('\r\ntransfer-encoding:') ? rest_bytes : 0;
}

/** Whether `bytes` begin with an informational head, whole or not. The answer to a handshake is none: what follows it is no head. */
function isInformational(bytes: Buffer): boolean {
  const at = afterEmptyLines(bytes) + 'HTTP/1.1 '.length;
  return bytes[at] === ONE && !(bytes[at + 1] === ZERO && bytes[at + 2] === ONE);
}

function afterHead(bytes: Buffer): Buffer | undefined {
  const end = endOfHead(bytes);
  return end < 0 ? undefined : bytes.subarray(end);
}

function endOfHead(bytes: Buffer): number {
  const end = bytes.indexOf('\r\n\r\n', afterEmptyLines(bytes), 'latin1');
  return end < 0 ? -1 : end + 4;
}

/** A parser skips empty lines before an answer. */
function afterEmptyLines(bytes: Buffer): number {
  let at = 0;
  while (bytes[at] === CR || bytes[at] === LF) at += 1;
  return at;
}
