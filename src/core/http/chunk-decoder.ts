// Takes a body in chunks (RFC 9112, section 7.1) apart, one read at a time. The bytes of all chunks of a read become one piece, in its own
// memory: who takes them has one call for each read, however finely it was cut.
import { AnswerFault } from './answer-fault.ts';

const CR = 0x0d;
const LF = 0x0a;
const SEMICOLON = 0x3b;
/** A larger chunk nobody sends. */
const CHUNK_MAX_BYTES = 2 ** 48;
/** Extensions (section 7.1.1), which mean nothing here. */
const EXTENSIONS =
  /^(?:;[!#$%&'*+\-.^_`|~0-9A-Za-z]+(?:=(?:[!#$%&'*+\-.^_`|~0-9A-Za-z]+|"(?:[\t !#-[\]-~\x80-\xff]|\\[\t -~\x80-\xff])*"))?)*$/;
/** How long the line of a size may be, with its extensions. */
const LINE_MAX_BYTES = 16 * 1024;
/** Fewer bytes are moved one by one. */
const LOOP_BELOW_BYTES = 64;

type State = 'size' | 'extension' | 'size_lf' | 'data' | 'data_cr' | 'data_lf' | 'over';

export class ChunkDecoder {
  #state: State = 'size';
  #left = 0;
  #digits = 0;
  #line_bytes = 0;
  #extensions = '';
  /** Where the bytes of the body are in the last read. */
  from = 0;
  to = 0;
  fault: AnswerFault | undefined;

  /** True behind the line of the last chunk: trailers follow. */
  get isOver(): boolean {
    return this.#state === 'over';
  }

  /** Goes through `read` from `at` on, whose bytes it moves. Returns where it has stopped: at the end, behind the last chunk, or at a fault. */
  decode(read: Buffer, at: number): number {
    this.from = at;
    this.to = at;
    let next = at;
    while (next < read.length && this.#state !== 'over' && this.fault === undefined) {
      next = this.#state === 'data' ? this.#take(read, next) : this.#step(read[next] ?? 0, next);
    }
    return next;
  }

  #take(read: Buffer, at: number): number {
    const end = Math.min(read.length, at + this.#left);
    this.#left -= end - at;
    if (this.#left === 0) this.#state = 'data_cr';
    if (this.from === this.to) {
      this.from = at;
      this.to = end;
      return end;
    }
    if (end - at < LOOP_BELOW_BYTES) for (let from = at; from < end; from += 1) read[this.to++] = read[from] ?? 0;
    else {
      read.copyWithin(this.to, at, end);
      this.to += end - at;
    }
    return end;
  }

  #step(byte: number, at: number): number {
    switch (this.#state) {
      case 'size':
        this.#onSize(byte);
        break;
      case 'extension':
        this.#onExtension(byte);
        break;
      case 'size_lf':
        if (byte === LF) this.#onLine();
        else this.#fail('the line of a size does not end');
        break;
      case 'data_cr':
        if (byte === CR) this.#state = 'data_lf';
        else this.#fail('a chunk does not end');
        break;
      case 'data_lf':
        if (byte === LF) this.#state = 'size';
        else this.#fail('a chunk does not end');
        break;
      case 'data':
      case 'over':
        break;
      default:
        this.#state satisfies never;
    }
    return at + 1;
  }

  #onSize(byte: number): void {
    const digit = DIGITS[byte] ?? -1;
    if (digit >= 0) {
      this.#digits += 1;
      this.#left = this.#left * 16 + digit;
      if (this.#left >= CHUNK_MAX_BYTES) this.#fail('a chunk is too large');
      else this.#countLine();
    } else if (this.#digits === 0) this.#fail('a chunk has no size');
    else if (byte === CR) this.#state = 'size_lf';
    else if (byte === SEMICOLON) {
      this.#state = 'extension';
      this.#extensions = ';';
    } else this.#fail('the size of a chunk is no number');
  }

  #onExtension(byte: number): void {
    if (byte !== CR) {
      this.#extensions += String.fromCharCode(byte);
      this.#countLine();
    } else if (EXTENSIONS.test(this.#extensions)) this.#state = 'size_lf';
    else this.#fail('an extension of a chunk is none');
  }

  #countLine(): void {
    this.#line_bytes += 1;
    if (this.#line_bytes > LINE_MAX_BYTES) this.#fail('the line of a size is too long');
  }

  #onLine(): void {
    this.#state = this.#left === 0 ? 'over' : 'data';
    this.#digits = 0;
    this.#line_bytes = 0;
  }

  #fail(message: string): void {
    this.fault = new AnswerFault('HPE_INVALID_CHUNK_SIZE', message);
  }
}

/** The value of each character code as a hex digit; -1 for any other character. */
const DIGITS = Int8Array.from({ length: 256 }, (_, code) => {
  const value = Number.parseInt(String.fromCharCode(code), 16);
  return Number.isNaN(value) ? -1 : value;
});
