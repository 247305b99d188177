// Where the frames of a WebSocket stream begin and end (RFC 6455, section 5.2), known from their headers alone: payloads are
// counted, never kept or unmasked. So a tunnel passes bytes on as they come and still knows where it may insert a frame of its
// own.

const CLOSE = 8;

export class FrameTrack {
  readonly #header = new Uint8Array(14);
  #have = 0;
  #need = 2;
  #payload_bytes = 0;
  #closing = false;

  /** True between two frames: another one may be inserted here, also between the parts of a message. */
  get atBoundary(): boolean {
    return this.#have === 0 && this.#payload_bytes === 0;
  }

  /** True once a close frame has begun to pass. */
  get closing(): boolean {
    return this.#closing;
  }

  push(chunk: Uint8Array): void {
    this.#advance(chunk, false);
  }

  /** Takes `chunk` up to the end of the present frame and returns how many bytes that is; undefined when the frame goes on. */
  pushToBoundary(chunk: Uint8Array): number | undefined {
    if (this.atBoundary) return 0;
    const at = this.#advance(chunk, true);
    return this.atBoundary ? at : undefined;
  }

  #advance(chunk: Uint8Array, stops: boolean): number {
    let at = 0;
    while (at < chunk.length) {
      if (this.#payload_bytes > 0) {
        const taken = Math.min(this.#payload_bytes, chunk.length - at);
        this.#payload_bytes -= taken;
        at += taken;
      } else {
        this.#header[this.#have] = chunk[at] ?? 0;
        this.#have += 1;
        at += 1;
        if (this.#have === 2) this.#need = toHeaderLength(this.#header[1] ?? 0);
        if (this.#have === this.#need) this.#beginPayload();
      }
      if (stops && this.atBoundary) break;
    }
    return at;
  }

  #beginPayload(): void {
    if (((this.#header[0] ?? 0) & 0x0f) === CLOSE) this.#closing = true;
    this.#payload_bytes = toPayloadLength(this.#header);
    this.#have = 0;
    this.#need = 2;
  }
}

/** `second`: the byte with the mask bit and the short length. */
function toHeaderLength(second: number): number {
  const length = second & 0x7f;
  const extended = length === 126 ? 2 : length === 127 ? 8 : 0;
  return 2 + extended + (second & 0x80 ? 4 : 0);
}

/** A length beyond the range of a number never ends, so that nothing is inserted into such a frame. */
function toPayloadLength(header: Uint8Array): number {
  const length = (header[1] ?? 0) & 0x7f;
  if (length < 126) return length;
  // A view costs more than all else, and most of many frames are short.
  const view = new DataView(header.buffer);
  if (length === 126) return view.getUint16(2);
  const exact = view.getBigUint64(2);
  return exact > BigInt(Number.MAX_SAFE_INTEGER) ? Number.POSITIVE_INFINITY : Number(exact);
}
