// The body of a request that may have to be sent a second time: what was read of a stream is kept while it is small.
import { Readable } from 'node:stream';

export const KEPT_MAX_BYTES = 1024 * 1024;

type Body = Buffer | Readable | null;

export class KeptBody {
  readonly #given: Body;
  readonly #source: AsyncIterator<Buffer> | undefined;
  readonly #pieces: Buffer[] = [];
  #pulling: Promise<boolean> | undefined;
  #bytes = 0;

  constructor(given: Body) {
    this.#given = given;
    this.#source = given instanceof Readable ? given.iterator({ destroyOnReturn: false }) : undefined;
  }

  /** Whether `open` gives the whole body again. */
  get isKept(): boolean {
    return this.#bytes <= KEPT_MAX_BYTES;
  }

  open(): Body {
    if (this.#source === undefined) return this.#given;
    return Readable.from(this.#read(), { objectMode: false });
  }

  async *#read(): AsyncGenerator<Buffer> {
    for (let index = 0; ; ) {
      const piece = this.#pieces[index];
      if (piece === undefined) {
        if (!(await this.#pull())) return;
      } else {
        if (this.isKept) index += 1;
        else {
          this.#pieces.splice(0, index + 1);
          index = 0;
        }
        yield piece;
      }
    }
  }

  /** One read for all who ask: the first try may still wait for it when the second begins. */
  #pull(): Promise<boolean> {
    this.#pulling ??= this.#next().finally(() => {
      this.#pulling = undefined;
    });
    return this.#pulling;
  }

  async #next(): Promise<boolean> {
    const next = await this.#source?.next();
    if (next === undefined || next.done === true) return false;
    this.#bytes += next.value.length;
    this.#pieces.push(next.value);
    return true;
  }
}
