// The answers of one connection of HTTP/1.1 (RFC 9112), from bytes to heads, bodies and trailers; one exchange at a time. Nothing of a read
// is kept: the caller may use its memory again.
import { AnswerFault } from './answer-fault.ts';
import { AnswerHead, hasIllegal, tooLarge } from './answer-head.ts';
import { ChunkDecoder } from './chunk-decoder.ts';

/** How long one line may be: that of a header which is allowed, with white space. */
const LINE_CAP_BYTES = 17 * 1024;
/** A read with more bytes than this between the bytes of its body counts as finely cut: each of them costs as much as fifty of a body. */
const FINE_BYTES = 6 * 1024;
const CR = 0x0d;
const LF = 0x0a;
const HEAD_END = Buffer.from('\r\n\r\n');

export interface AnswerEvents {
  /** The first byte of an answer is there. */
  onBegin(): void;
  /** Informational answers as well. */
  onHead(head: AnswerHead): void;
  /** `bytes` are a part of the read, to be copied before this returns. */
  onData(bytes: Buffer): void;
  /** `trailers` are flat. */
  onEnd(trailers: string[]): void;
}

type State = 'over' | 'empty' | 'head' | 'length' | 'chunks' | 'trailers' | 'close';

const NONE: string[] = [];

export class AnswerParser {
  readonly #events: AnswerEvents;
  #state: State = 'over';
  #head = new AnswerHead();
  /** The beginning of a line whose rest is still to come. */
  #line = '';
  #left = 0;
  #chunks = new ChunkDecoder();
  /** True when the last read was cut finely. */
  isFine = false;

  constructor(events: AnswerEvents) {
    this.#events = events;
  }

  /** True when no byte is expected. */
  get isOver(): boolean {
    return this.#state === 'over';
  }

  /** A request goes out; the next byte belongs to its answer. */
  begin(): void {
    this.#state = 'empty';
    this.isFine = false;
  }

  /**
   * Reads on. Returns how many bytes it has taken: fewer than there are behind an informational head, and at the end of the answer. Throws
   * an `AnswerFault` for what is no answer.
   */
  push(read: Buffer): number {
    this.isFine = false;
    let at = 0;
    while (at < read.length) {
      const before = this.#head;
      at = this.#step(read, at);
      if (this.#state === 'over' || (this.#state === 'empty' && this.#head !== before)) break;
    }
    return at;
  }

  /** The connection has ended. Throws when the answer has not. */
  finish(): void {
    if (this.#state !== 'close') throw new AnswerFault('UND_ERR_SOCKET', 'other side closed');
    this.#end(NONE);
  }

  #step(read: Buffer, at: number): number {
    switch (this.#state) {
      case 'empty':
        return this.#begin(read, at);
      case 'head':
      case 'trailers':
        return this.#followLines(read, at);
      case 'length':
        return this.#followLength(read, at);
      case 'chunks':
        return this.#followChunks(read, at);
      case 'close':
        this.#events.onData(at === 0 ? read : read.subarray(at));
        return read.length;
      case 'over':
        return at;
      default:
        return this.#state satisfies never;
    }
  }

  #begin(read: Buffer, from: number): number {
    let at = from;
    while (read[at] === CR || read[at] === LF) at += 1;
    if (at === read.length) return at;
    this.#events.onBegin();
    this.#state = 'head';
    const end = read.indexOf(HEAD_END, at);
    if (end < 0) return at;
    const text = read.toString('latin1', at, end);
    const first = text.indexOf('\r\n');
    if (first >= 0 && hasIllegal(text.slice(first))) throw illegal();
    let line = 0;
    for (let next = first; next >= 0; next = text.indexOf('\r\n', line)) {
      this.#take(text, line, next);
      line = next + 2;
    }
    this.#take(text, line, text.length);
    this.#onHead();
    return end + HEAD_END.length;
  }

  /** A head of which only a part is there, or trailers. */
  #followLines(read: Buffer, from: number): number {
    const known = this.#line.length;
    const added = read.toString('latin1', from);
    const text = this.#line + added;
    let line = 0;
    for (let end = text.indexOf('\r\n'); end >= 0; end = text.indexOf('\r\n', line)) {
      const isLast = end === line;
      if (this.#isAtHeaders && hasIllegal(text.slice(line, end))) throw illegal();
      if (!isLast) this.#take(text, line, end);
      line = end + 2;
      if (!isLast) continue;
      this.#line = '';
      if (this.#state === 'head') this.#onHead();
      else this.#end(this.#head.headers);
      return from + line - known;
    }
    this.#line = text.slice(line);
    if (this.#line.length > LINE_CAP_BYTES) throw tooLarge();
    // What can be no answer is refused at once: its rest may never come.
    // A carriage return at the end may be the first half of an end of line.
    const rest = added.slice(Math.max(0, line - known), added.endsWith('\r') ? -1 : undefined);
    if (this.#isAtHeaders ? hasIllegal(rest) : /[\r\n]/.test(rest)) throw illegal();
    if (!this.#isAtHeaders && !'HTTP/'.startsWith(this.#line.slice(0, 5))) {
      throw new AnswerFault('HPE_INVALID_CONSTANT', 'this is not HTTP');
    }
    return read.length;
  }

  get #isAtHeaders(): boolean {
    return this.#state === 'trailers' || this.#head.status > 0;
  }

  #take(text: string, from: number, end: number): void {
    const fault = this.#state === 'head' ? this.#head.take(text, from, end) : this.#head.takeHeader(text, from, end);
    if (fault !== undefined) throw fault;
  }

  #onHead(): void {
    const head = this.#head;
    const fault = head.check();
    if (fault !== undefined) throw fault;
    this.#head = new AnswerHead();
    if (head.status < 200) {
      this.#state = 'empty';
      this.#events.onHead(head);
      return;
    }
    const { bodyEnd } = head;
    this.#state = bodyEnd === 'none' ? 'over' : bodyEnd;
    this.#left = head.length_bytes;
    if (bodyEnd === 'chunks') this.#chunks = new ChunkDecoder();
    this.#events.onHead(head);
    if (bodyEnd === 'none') this.#events.onEnd(NONE);
  }

  #followLength(read: Buffer, at: number): number {
    const end = Math.min(read.length, at + this.#left);
    this.#left -= end - at;
    this.#events.onData(read.subarray(at, end));
    if (this.#left === 0) this.#end(NONE);
    return end;
  }

  #followChunks(read: Buffer, at: number): number {
    const chunks = this.#chunks;
    const end = chunks.decode(read, at);
    this.isFine ||= end - at - (chunks.to - chunks.from) > FINE_BYTES;
    if (chunks.from < chunks.to) this.#events.onData(read.subarray(chunks.from, chunks.to));
    if (chunks.fault !== undefined) throw chunks.fault;
    if (chunks.isOver) this.#state = 'trailers';
    return end;
  }

  #end(trailers: string[]): void {
    this.#state = 'over';
    if (trailers.length > 0) this.#head = new AnswerHead();
    this.#events.onEnd(trailers);
  }
}

function illegal(): AnswerFault {
  return new AnswerFault('HPE_INVALID_HEADER_TOKEN', 'a head has characters that none may have');
}
