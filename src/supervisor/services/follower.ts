// One caller who follows a service. When it reads more slowly than the service writes, lines are left out, and it is told how many.
import type { ServiceLogEvent } from '../../contract/services.ts';
import type { EventSink } from '../../http/event-sink.ts';
import type { ServiceHub } from './service-hub.ts';

/** What may wait for one reader. */
const AHEAD_BYTES = 512 * 1024;
/** What the event of a line has besides the line. */
const EVENT_BYTES = 64;
const PACE_MS = 10;

export interface FollowerOptions {
  readonly hub: ServiceHub;
  readonly sink: EventSink<ServiceLogEvent>;
  readonly wall_ms: () => number;
  /** Holds live events back until `release`, so that older lines can go first. */
  readonly isHeld?: boolean;
}

export class Follower implements Disposable {
  readonly #options: FollowerOptions;
  readonly #following: Disposable;
  #held: ServiceLogEvent[] | undefined;
  #held_bytes = 0;
  #left_out = 0;

  constructor(options: FollowerOptions) {
    this.#options = options;
    this.#held = options.isHeld === true ? [] : undefined;
    options.sink.open();
    this.#following = options.hub.follow((event) => this.#take(event));
  }

  /** Sends older lines; resolves when the reader can take more, or is gone. */
  async sendOlder(events: readonly ServiceLogEvent[]): Promise<void> {
    const { sink } = this.#options;
    for (const event of events) sink.send(event);
    while (sink.waiting_bytes > AHEAD_BYTES && !sink.closed) {
      await new Promise((resolve) => setTimeout(resolve, PACE_MS));
    }
  }

  /** Live events are sent from now on. */
  release(): void {
    const held = this.#held ?? [];
    this.#held = undefined;
    this.#held_bytes = 0;
    for (const event of held) this.#take(event);
  }

  /** Ends the stream with `complete`. */
  complete(path: string): void {
    this[Symbol.dispose]();
    const { sink, wall_ms } = this.#options;
    this.#tellLeftOut();
    sink.send({ type: 'complete', timestamp: wall_ms(), log_files: { combined: path, stdout: path, stderr: path } });
    sink.end();
  }

  [Symbol.dispose](): void {
    this.#following[Symbol.dispose]();
  }

  /** Events of the service itself are never left out: there are few of them. */
  #take(event: ServiceLogEvent): void {
    const { sink } = this.#options;
    const isLine = event.type === 'stdout' || event.type === 'stderr';
    if (isLine && sink.waiting_bytes + this.#held_bytes > AHEAD_BYTES) {
      this.#left_out += 1;
      return;
    }
    if (this.#held === undefined) {
      this.#tellLeftOut();
      sink.send(event);
    } else {
      this.#held.push(event);
      if (isLine) this.#held_bytes += event.data.length + EVENT_BYTES;
    }
  }

  #tellLeftOut(): void {
    if (this.#left_out === 0) return;
    const { sink, wall_ms } = this.#options;
    const data = `${this.#left_out} lines were left out here, because this reader is slow; the log file has them`;
    this.#left_out = 0;
    sink.send({ type: 'error', data, timestamp: wall_ms() });
  }
}
