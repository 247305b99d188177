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

  /** The bytes to give to the parser in place of `read`. */
  push(read: Buffer): Buffer {
    if (this.#isOff) return read;
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

  /** True when the connection is no longer followed and every request that was seen has been returned. */
  get isAtEnd(): boolean {
    return this.#isOff && this.#seen.length === 0;
  }

  /** The requests in their order, each once; undefined when the connection is no longer followed. */
  next(): SeenRequest | undefined {
    return this.#seen.shift();
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
    const text = head.includes('\r\n ') || head.includes('\r\n\t') ? unfold(head) : head;
    const end = text.indexOf('\r\n');
    const line = end < 0 ? text : text.slice(0, end);
    const names = text.toLowerCase();
    const isChunked = headerOf(names, '\r\ntransfer-encoding:') !== undefined;
    const length_bytes = isChunked ? 0 : Number(headerOf(names, '\r\ncontent-length:') ?? 0);
    this.#seen.push({ line, isChunked, length_bytes });
    this.#unanswered += 1;
    const upgrade = headerOf(names, '\r\nupgrade:');
    if (upgrade === 'websocket' || names.startsWith('connect ') || !Number.isSafeInteger(length_bytes))
      this.#isOff = true;
    if (isChunked) this.#body = new ChunkBody(false);
    else this.#left = length_bytes;
  }
}

function unfold(text: string): string {
  return text.replaceAll('\r\n ', '  ').replaceAll('\r\n\t', '  ');
}

/** The value of `name`, which includes the end of the line before it and a colon. */
function headerOf(text: string, name: string): string | undefined {
  const at = text.lastIndexOf(name);
  if (at < 0) return undefined;
  const from = at + name.length;
  const end = text.indexOf('\r\n', from);
  return text.slice(from, end < 0 ? undefined : end).trim();
}
