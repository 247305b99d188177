// The requests of one connection on their way to the parser that reads them: where each begins and how its body is framed, so
// that the small chunks of chunked bodies can be joined. The server compares the parser's requests with those seen here: bytes
// that the two understand differently must not be answered.
import { ChunkBody, matchEnd, Rewritten } from './chunk-body.ts';
import { Pieces } from './pieces.ts';

/** No parser accepts a head of more bytes. */
const HEAD_CAP_BYTES = 64 * 1024;

/**
 * The number of requests that a parser gets from one connection before it has to answer some: each costs the server more than
 * its sender.
 */
const PIPELINED_MAX = 8;

const CR = '\r'.charCodeAt(0);
const LETTER_C = 'c'.charCodeAt(0);
const LETTER_T = 't'.charCodeAt(0);
const LETTER_U = 'u'.charCodeAt(0);

export interface SeenRequest {
  /** The request line without its end of line. */
  readonly line: string;
  readonly isChunked: boolean;
  /** The declared length of a body without chunks. */
  readonly length_bytes: number;
}

export class RequestJoiner {
  #rest: Buffer | undefined;
  #unanswered = 0;
  readonly #seen: SeenRequest[] = [];
  readonly #head = new Pieces();
  #matched = 0;
  #left = 0;
  #body: ChunkBody | undefined;
  #isOff = false;
  #isFine = false;
  #isSpent = false;

  /** The bytes to give to the parser in place of `read`. */
  push(read: Buffer): Buffer {
    this.#isSpent = !this.#isOff && this.#left >= read.length;
    if (this.#isOff) return read;
    if (this.#isWholeHead(read)) return read;
    const rewritten = new Rewritten(read);
    let at = 0;
    while (at < read.length && !this.#isOff && !this.#isEnough) at = this.#follow(read, at, rewritten);
    this.#isFine = rewritten.isFine;
    if (at === read.length || this.#isOff) return rewritten.result();
    this.#rest = read.subarray(at);
    return rewritten.result(at);
  }

  /** The part of the last read that has to wait for `onAnswered`, because it holds too many requests; undefined for none. */
  takeRest(): Buffer | undefined {
    const rest = this.#rest;
    this.#rest = undefined;
    return rest;
  }

  /** What follows is of another protocol, and passes as it is. */
  onSwitched(): void {
    this.#isOff = true;
    this.#isFine = false;
  }

  /** A request that `next` returned has been answered. */
  onAnswered(): void {
    this.#unanswered -= 1;
  }

  get #isEnough(): boolean {
    const isBetween = this.#left === 0 && this.#body === undefined && this.#head.bytes === 0;
    return isBetween && this.#unanswered >= PIPELINED_MAX;
  }

  /** True when the last read was cut finely. */
  get isFine(): boolean {
    return this.#isFine;
  }

  /** True when the last read was nothing but body, of which the parser makes a copy. */
  get isSpent(): boolean {
    return this.#isSpent;
  }

  /** True when the connection is no longer followed and every request that was seen has been returned. */
  get isAtEnd(): boolean {
    return this.#isOff && this.#seen.length === 0;
  }

  /** The requests in their order, each once; undefined when the connection is no longer followed. */
  next(): SeenRequest | undefined {
    return this.#seen.shift();
  }

  /** Takes a read that is one head and nothing else, as most are. */
  #isWholeHead(read: Buffer): boolean {
    if (this.#left > 0 || this.#body !== undefined || this.#head.bytes > 0 || this.#isEnough) return false;
    const end = read.length - 4;
    if (read[end] !== CR || end > HEAD_CAP_BYTES) return false;
    const text = read.toString('latin1');
    if (text.indexOf('\r\n\r\n') !== end) return false;
    this.#isFine = false;
    this.#onHead(text.slice(0, end));
    return true;
  }

  #follow(read: Buffer, at: number, rewritten: Rewritten): number {
    if (this.#left > 0) {
      const taken = Math.min(this.#left, read.length - at);
      this.#left -= taken;
      return at + taken;
    }
    if (this.#body === undefined) return this.#followHead(read, at);
    const end = this.#body.follow(read, at, rewritten);
    if (this.#body.isBroken) this.#isOff = true;
    if (this.#body.isOver) this.#body = undefined;
    return end;
  }

  #followHead(read: Buffer, from: number): number {
    const isWhole = this.#head.bytes === 0;
    const found = isWhole ? read.indexOf('\r\n\r\n', from, 'latin1') : -1;
    if (found >= 0) {
      this.#onHead(read.toString('latin1', from, found));
      return found + 4;
    }
    let at = from;
    while (at < read.length && this.#matched < 4) {
      this.#matched = matchEnd(this.#matched, read[at] ?? 0);
      at += 1;
    }
    this.#head.push(read.subarray(from, at));
    if (this.#matched === 4) {
      this.#matched = 0;
      const head = this.#head.take();
      this.#onHead(head.toString('latin1', 0, head.length - 4));
    } else if (this.#head.bytes > HEAD_CAP_BYTES) this.#isOff = true;
    return at;
  }

  #onHead(raw: string): void {
    // A parser skips empty lines before a request.
    const head = raw.trimStart();
    if (head === '') return;
    const { seen, switches } = readHead(head);
    const { isChunked, length_bytes } = seen;
    this.#seen.push(seen);
    this.#unanswered += 1;
    if (switches || !Number.isSafeInteger(length_bytes)) this.#isOff = true;
    if (isChunked) this.#body = new ChunkBody(false);
    else this.#left = length_bytes;
  }
}

/** The last header of a name counts, as for the parser. */
function readHead(head: string): { readonly seen: SeenRequest; readonly switches: boolean } {
  const first = head.indexOf('\r\n');
  const line = first < 0 ? head : head.slice(0, first);
  let isChunked = false;
  let length: string | undefined;
  let upgrade: string | undefined;
  for (let at = first; at >= 0; ) {
    const from = at + 2;
    at = endOfHeader(head, from);
    const end = at < 0 ? head.length : at;
    switch (head.charCodeAt(from) | 0x20) {
      case LETTER_T:
        isChunked ||= readValue(head, from, end, 'transfer-encoding:') !== undefined;
        break;
      case LETTER_C:
        length = readValue(head, from, end, 'content-length:') ?? length;
        break;
      case LETTER_U:
        upgrade = readValue(head, from, end, 'upgrade:') ?? upgrade;
        break;
      default:
    }
  }
  const switches = upgrade === 'websocket' || /^connect /i.test(line);
  return { seen: { line, isChunked, length_bytes: isChunked ? 0 : Number(length ?? 0) }, switches };
}

/** Where the header that begins at `from` ends, with the lines that continue it; -1 for the end of the head. */
function endOfHeader(head: string, from: number): number {
  let end = head.indexOf('\r\n', from);
  while (end >= 0 && (head[end + 2] === ' ' || head[end + 2] === '\t')) end = head.indexOf('\r\n', end + 2);
  return end;
}

/** The folded value of the header between `from` and `end`, if it has this `name`, which includes the colon. */
function readValue(head: string, from: number, end: number, name: string): string | undefined {
  const colon = from + name.length;
  if (colon > end || head.slice(from, colon).toLowerCase() !== name) return undefined;
  return head.slice(colon, end).replaceAll('\r\n', '').trim().toLowerCase();
}
