// One chunked body (RFC 9112, section 7.1) on its way to the parser that reads it: small chunks that came in one read become
// one chunk, because a parser makes one call for each. Everything else stays byte for byte.

const CR = 0x0d;
const LF = 0x0a;
const SEMICOLON = 0x3b;
/** The cost of a chunk of this size or more is paid for by its bytes. */
const JOIN_BELOW_BYTES = 4 * 1024;
/** A size with more digits is not followed; no peer can send that much. */
const SIZE_DIGITS_MAX = 12;
/** A read with more chunks than this counts as finely cut. */
const FINE_CHUNKS = 1_000;
/** Room for the size line of what was joined: a read is far below 2 ** 32 bytes. */
const HEAD_ROOM = 10;

/** The buffer in which chunks are joined, used by one call at a time. */
let bench = Buffer.alloc(0);

type State = 'size' | 'rest_of_size' | 'size_lf' | 'data' | 'data_cr' | 'data_lf' | 'trailers' | 'over' | 'broken';

/** A read in which parts were replaced by something shorter. */
export class Rewritten {
  readonly #read: Buffer;
  readonly #parts: Buffer[] = [];
  #from = 0;
  #chunks = 0;

  constructor(read: Buffer) {
    this.#read = read;
  }

  /** `chunks`: the number of chunks that `by` replaces. */
  replace(from: number, to: number, by: Buffer, chunks: number): void {
    this.#chunks += chunks;
    if (from > this.#from) this.#parts.push(this.#read.subarray(this.#from, from));
    this.#parts.push(by);
    this.#from = to;
  }

  /** True when there were so many chunks that joining them took some time. */
  get isFine(): boolean {
    return this.#chunks > FINE_CHUNKS;
  }

  /** The result up to `end`; the read itself when `end` is its length and nothing was replaced. */
  result(end = this.#read.length): Buffer {
    if (this.#from === 0) return end === this.#read.length ? this.#read : this.#read.subarray(0, end);
    if (this.#from < end) this.#parts.push(this.#read.subarray(this.#from, end));
    return this.#parts.length === 1 && this.#parts[0] !== undefined ? this.#parts[0] : Buffer.concat(this.#parts);
  }
}

export class ChunkBody {
  readonly #dropsExtensions: boolean;
  #state: State = 'size';
  #digits = 0;
  #left = 0;
  /** How many bytes of CR LF CR LF were seen last, in trailers. */
  #matched = 0;

  /**
   * @param dropsExtensions whether chunk extensions are dropped. They mean nothing here, but a parser that limits them must see
   * them.
   */
  constructor(dropsExtensions: boolean) {
    this.#dropsExtensions = dropsExtensions;
  }

  get isOver(): boolean {
    return this.#state === 'over';
  }

  /** True when the bytes are no chunked body; the parser will report it. */
  get isBroken(): boolean {
    return this.#state === 'broken';
  }

  /** Follows the body through `read` from `from` on. Returns where the body ends, or the length of the read. */
  follow(read: Buffer, from: number, rewritten?: Rewritten): number {
    let at = from;
    while (at < read.length && this.#state !== 'over' && this.#state !== 'broken') {
      if (this.#state === 'size' && this.#digits === 0 && rewritten !== undefined) at = this.#join(read, at, rewritten);
      if (at < read.length) at = this.#step(read, at);
    }
    return at;
  }

  #step(read: Buffer, at: number): number {
    if (this.#state === 'data') {
      const taken = Math.min(this.#left, read.length - at);
      this.#left -= taken;
      if (this.#left === 0) this.#state = 'data_cr';
      return at + taken;
    }
    const byte = read[at] ?? 0;
    switch (this.#state) {
      case 'size':
        this.#onSize(byte);
        break;
      case 'rest_of_size':
        if (byte === CR) this.#state = 'size_lf';
        break;
      case 'size_lf':
        this.#onSizeEnd(byte);
        break;
      case 'data_cr':
        this.#state = byte === CR ? 'data_lf' : 'broken';
        break;
      case 'data_lf':
        this.#state = byte === LF ? 'size' : 'broken';
        this.#digits = 0;
        this.#left = 0;
        break;
      case 'trailers':
        this.#matched = matchEnd(this.#matched, byte);
        if (this.#matched === 4) this.#state = 'over';
        break;
      case 'over':
      case 'broken':
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
      if (this.#left >= 16 ** SIZE_DIGITS_MAX) this.#state = 'broken';
      return;
    }
    if (this.#digits === 0) this.#state = 'broken';
    else this.#state = byte === CR ? 'size_lf' : 'rest_of_size';
  }

  #onSizeEnd(byte: number): void {
    if (byte !== LF) this.#state = 'broken';
    else if (this.#left > 0) this.#state = 'data';
    else {
      this.#state = 'trailers';
      this.#matched = 2;
    }
  }

  /** Starts at the beginning of a chunk and joins complete small chunks, except the last one. Returns where the rest begins. */
  #join(read: Buffer, from: number, rewritten: Rewritten): number {
    let size = 0;
    let count = 0;
    let done = from;
    for (;;) {
      let at = done;
      let length = 0;
      let digit = DIGITS[read[at] ?? 0] ?? -1;
      while (digit >= 0 && length < JOIN_BELOW_BYTES) {
        length = length * 16 + digit;
        at += 1;
        digit = DIGITS[read[at] ?? 0] ?? -1;
      }
      if (length === 0 || length >= JOIN_BELOW_BYTES) break;
      if (this.#dropsExtensions && read[at] === SEMICOLON) at = read.indexOf(CR, at);
      if (read[at] !== CR || read[at + 1] !== LF) break;
      const data = at + 2;
      const end = data + length;
      if (read[end] !== CR || read[end + 1] !== LF) break;
      // A single chunk stays as it is: each event of a stream is one.
      if (count === 0 && end + 2 === read.length) break;
      if (bench.length < HEAD_ROOM + read.length + 2) bench = Buffer.allocUnsafeSlow(HEAD_ROOM + read.length + 2);
      let to = HEAD_ROOM + size;
      for (at = data; at < end; at += 1, to += 1) bench[to] = read[at] ?? 0;
      size += length;
      count += 1;
      done = end + 2;
    }
    if (count < 2) return from;
    const head = `${size.toString(16)}\r\n`;
    const start = HEAD_ROOM - head.length;
    const end = HEAD_ROOM + size + 2;
    bench.write(head, start, 'latin1');
    bench.write('\r\n', end - 2, 'latin1');
    // The copy takes only the room that it needs, and not that of the read.
    rewritten.replace(from, done, Buffer.from(bench.subarray(start, end)), count);
    return done;
  }
}

/** How much of CR LF CR LF has been seen when `byte` follows `matched` bytes of it. */
export function matchEnd(matched: number, byte: number): number {
  if (byte === CR) return matched === 2 ? 3 : 1;
  if (byte === LF) return matched === 1 ? 2 : matched === 3 ? 4 : 0;
  return 0;
}

/** The value of each character code as a hex digit; -1 for any other character. */
const DIGITS = Int8Array.from({ length: 256 }, (_, code) => {
  const value = Number.parseInt(String.fromCharCode(code), 16);
  return Number.isNaN(value) ? -1 : value;
});
