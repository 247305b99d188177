// What a process printed last, for those who attach later. Pure.
export type OutputKind = 'stdout' | 'stderr';

export interface Output {
  readonly kind: OutputKind;
  readonly bytes: Buffer;
}

const CAP_BYTES = 256 * 1024;
/** Parts below this are joined when they come, so that a process that prints single bytes fills no list of them. */
const PART_BYTES = 4 * 1024;
/** The most parts: a process can prevent joining, by turns of its two outputs. */
const PARTS_MAX = 1_024;

export class OutputRing {
  readonly #cap_bytes: number;
  readonly #parts: Output[] = [];
  #bytes = 0;

  constructor(cap_bytes = CAP_BYTES) {
    this.#cap_bytes = cap_bytes;
  }

  /** The bytes must not change afterwards. */
  push({ kind, bytes }: Output): void {
    const last = this.#parts.at(-1);
    if (last?.kind === kind && last.bytes.length + bytes.length <= PART_BYTES) {
      this.#parts[this.#parts.length - 1] = { kind, bytes: Buffer.concat([last.bytes, bytes]) };
    } else this.#parts.push({ kind, bytes });
    this.#bytes += bytes.length;
    while (this.#bytes > this.#cap_bytes || this.#parts.length > PARTS_MAX) this.#dropFirst();
  }

  /** What is kept, in the order in which it came, neighbours of one kind as one. */
  read(): readonly Output[] {
    const runs: { readonly kind: OutputKind; readonly parts: Buffer[] }[] = [];
    for (const { kind, bytes } of this.#parts) {
      const run = runs.at(-1);
      if (run?.kind === kind) run.parts.push(bytes);
      else runs.push({ kind, parts: [bytes] });
    }
    return runs.map(({ kind, parts }) => ({ kind, bytes: Buffer.concat(parts) }));
  }

  /** Drops as much of the first part as is too much. */
  #dropFirst(): void {
    const first = this.#parts[0];
    if (first === undefined) return;
    const surplus_bytes = this.#bytes - this.#cap_bytes;
    if (surplus_bytes > 0 && first.bytes.length > surplus_bytes) {
      this.#parts[0] = { kind: first.kind, bytes: first.bytes.subarray(surplus_bytes) };
      this.#bytes -= surplus_bytes;
    } else {
      this.#parts.shift();
      this.#bytes -= first.bytes.length;
    }
  }
}
