// Reads the short messages of a WebSocket stream as it passes (RFC 6455, section 5). Longer ones are skipped by their headers, so that a
// stream of data costs no more than its frames' headers, and no peer makes it keep more than the cap. Compressed messages are skipped.

const CONTINUATION = 0;
const TEXT = 1;
const CLOSE = 8;
const COMPRESSED = 0x40;

export interface MessageReaderOptions {
  /** The longest message that is read; 0 for none of the kind. */
  readonly textCap_bytes: number;
  readonly binaryCap_bytes: number;
  /** The payload must not be kept. */
  readonly onMessage: (payload: Buffer, isBinary: boolean) => void;
}

export class MessageReader {
  readonly #options: MessageReaderOptions;
  readonly #header = Buffer.alloc(14);
  #have = 0;
  #need = 2;
  /** What is left of the present frame. */
  #left_bytes = 0;
  /** Where the present byte stands in its frame, for the mask. */
  #at = 0;
  /** The message that is being read: its parts, while it may still be short enough. */
  #parts: Buffer[] | undefined;
  #bytes = 0;
  #isBinary = false;
  /** The present frame is part of that message. */
  #isTaken = false;

  constructor(options: MessageReaderOptions) {
    this.#options = options;
  }

  push(chunk: Buffer): void {
    let at = 0;
    while (at < chunk.length) {
      if (this.#left_bytes > 0) {
        const taken = Math.min(this.#left_bytes, chunk.length - at);
        if (this.#isTaken) this.#take(chunk.subarray(at, at + taken));
        this.#left_bytes -= taken;
        at += taken;
        if (this.#left_bytes === 0) this.#endFrame();
      } else {
        this.#header[this.#have] = chunk[at] ?? 0;
        this.#have += 1;
        at += 1;
        if (this.#have === 2) this.#need = toHeaderLength(this.#header[1] ?? 0);
        if (this.#have === this.#need) this.#beginFrame();
      }
    }
  }

  #beginFrame(): void {
    const first = this.#header[0] ?? 0;
    const opcode = first & 0x0f;
    this.#left_bytes = toPayloadLength(this.#header);
    this.#at = 0;
    this.#isTaken = opcode < CLOSE;
    if (this.#isTaken && opcode !== CONTINUATION) {
      this.#isBinary = opcode !== TEXT;
      this.#parts = (first & COMPRESSED) === 0 ? [] : undefined;
      this.#bytes = 0;
    }
    if (this.#isTaken) {
      this.#bytes += this.#left_bytes;
      const { textCap_bytes, binaryCap_bytes } = this.#options;
      if (this.#bytes > (this.#isBinary ? binaryCap_bytes : textCap_bytes)) this.#parts = undefined;
      this.#isTaken = this.#parts !== undefined;
    }
    if (this.#left_bytes === 0) this.#endFrame();
  }

  #take(payload: Buffer): void {
    const isMasked = ((this.#header[1] ?? 0) & 0x80) !== 0;
    const copy = Buffer.from(payload);
    if (isMasked) {
      const mask = this.#need - 4;
      for (let index = 0; index < copy.length; index += 1) {
        copy[index] = (copy[index] ?? 0) ^ (this.#header[mask + ((this.#at + index) & 3)] ?? 0);
      }
    }
    this.#at += copy.length;
    this.#parts?.push(copy);
  }

  #endFrame(): void {
    const isFinal = ((this.#header[0] ?? 0) & 0x80) !== 0;
    this.#have = 0;
    this.#need = 2;
    if (!this.#isTaken || !isFinal || this.#parts === undefined) return;
    const parts = this.#parts;
    this.#parts = undefined;
    this.#options.onMessage(Buffer.concat(parts), this.#isBinary);
  }
}

/** `second`: the byte with the mask bit and the short length. */
function toHeaderLength(second: number): number {
  const length = second & 0x7f;
  const extended = length === 126 ? 2 : length === 127 ? 8 : 0;
  return 2 + extended + (second & 0x80 ? 4 : 0);
}

/** A length beyond the range of a number never ends. */
function toPayloadLength(header: Buffer): number {
  const length = (header[1] ?? 0) & 0x7f;
  if (length < 126) return length;
  if (length === 126) return header.readUInt16BE(2);
  const exact = header.readBigUInt64BE(2);
  return exact > BigInt(Number.MAX_SAFE_INTEGER) ? Number.POSITIVE_INFINITY : Number(exact);
}
