// Which operation keeps the event loop from everything else, and for how long. An operation gives its name when it begins to
// run. The time is charged to it until the next one begins, or until the turn of the loop is over.
import { monitorEventLoopDelay } from 'node:perf_hooks';

/** A hold that lasts longer is reported. */
const LONG_MS = 100;
/** Newer runtimes measure every turn by themselves, so that turns in which no operation gave its name are seen as well. */
const measuresTurns = Number(process.versions.node.split('.')[0]) >= 26;
/** A turn holds more than the operation that takes most of it. */
const MOST_OF_IT = 0.5;

export interface Hold {
  readonly ms: number;
  /** Null when no operation ran: a timer, a start, the collection of garbage. */
  readonly operation: string | null;
}

export class LoopWatch implements Disposable {
  readonly #onLong: (hold: Hold) => void;
  readonly #turns = measuresTurns ? monitorEventLoopDelay({ samplePerIteration: true }) : undefined;
  #operation: string | undefined;
  #since_ms = 0;
  #longest: Hold = { ms: 0, operation: null };

  /** `onLong` is called for each hold of more than 100 ms by an operation. */
  constructor(onLong: (hold: Hold) => void) {
    this.#onLong = onLong;
  }

  start(): void {
    this.#turns?.enable();
  }

  /** Names the operation that runs from this call on. */
  enter(operation: string): void {
    const now_ms = performance.now();
    if (this.#operation === undefined) setImmediate(this.#onTurnEnd);
    else this.#charge(this.#operation, now_ms);
    this.#operation = operation;
    this.#since_ms = now_ms;
  }

  /** The time of each turn since the start, where the runtime measures it. */
  get turns(): ReturnType<typeof monitorEventLoopDelay> | undefined {
    return this.#turns;
  }

  /** The longest hold since the start. */
  get longest(): Hold {
    const turn_ms = (this.#turns?.max ?? 0) / 1e6;
    const known = this.#longest;
    if (known.ms >= turn_ms * MOST_OF_IT) return { ...known, ms: Math.round(known.ms * 10) / 10 };
    return { ms: Math.round(turn_ms * 10) / 10, operation: null };
  }

  readonly #onTurnEnd = (): void => {
    const operation = this.#operation;
    this.#operation = undefined;
    if (operation !== undefined) this.#charge(operation, performance.now());
  };

  #charge(operation: string, now_ms: number): void {
    const ms = now_ms - this.#since_ms;
    if (ms <= this.#longest.ms && ms <= LONG_MS) return;
    const hold = { ms, operation };
    if (ms > this.#longest.ms) this.#longest = hold;
    if (ms > LONG_MS) this.#onLong(hold);
  }

  [Symbol.dispose](): void {
    this.#turns?.disable();
  }
}
