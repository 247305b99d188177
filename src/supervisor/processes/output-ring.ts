// What a process printed last, for those who attach later. Pure.
export type OutputKind = 'stdout' | 'stderr';

export interface Output {
  readonly kind: OutputKind;
  readonly bytes: Buffer;
}

const CAP_BYTES = 256 * 1024;

export class OutputRing {
  readonly #cap_bytes: number;
  #parts: Output[] = [];
  #bytes = 0;

  constructor(cap_bytes = CAP_BYTES) {
    this.#cap_bytes = cap_bytes;
  }

  /** The bytes must not change afterwards. */
  push(output: Output): void {
    this.#parts.push(output);
    this.#bytes += output.bytes.length;
    while (this.#bytes > this.#cap_bytes) this.#dropFrom(this.#bytes - this.#cap_bytes);
  }

  /** In the order in which they came, neighbours of one kind as one. */
  read(): readonly Output[] {
    const joined: Output[] = [];
    for (const part of this.#parts) {
      const last = joined.at(-1);
      if (last?.kind !== part.kind) joined.push(part);
      else joined[joined.length - 1] = { kind: part.kind, bytes: Buffer.concat([last.bytes, part.bytes]) };
    }
    // Many small parts are joined once, not for each reader again.
    this.#parts = joined;
    return [...joined];
  }

  #dropFrom(surplus_bytes: number): void {
    const first = this.#parts[0];
    if (first === undefined) return;
    if (first.bytes.length > surplus_bytes) {
      this.#parts[0] = { kind: first.kind, bytes: first.bytes.subarray(surplus_bytes) };
      this.#bytes -= surplus_bytes;
    } else {
      this.#parts.shift();
      this.#bytes -= first.bytes.length;
    }
  }
}
