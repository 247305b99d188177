// How many frames of each kind the other end of a channel may send. An agent sends far fewer: what is above it only costs time.
import { createTokenBucket, type TokenBucket } from '../token-bucket.ts';

export const frameType = {
  data: 0,
  headers: 1,
  priority: 2,
  reset: 3,
  settings: 4,
  pushPromise: 5,
  ping: 6,
  goAway: 7,
  windowUpdate: 8,
  continuation: 9,
} as const;

export const END_STREAM = 1;
export const PADDED = 8;

/** The other end of a channel sends no larger one, because this end does not allow it. */
export const FRAME_MAX_BYTES = 16 * 1024;
/** A head of 64 bytes counts as one frame, and a longer one as several. */
const HEAD_UNIT_BYTES = 64;

interface Kind {
  readonly name: string;
  readonly burst: number;
  readonly perSecond: number;
}

const kinds = {
  emptyData: { name: 'DATA without bytes', burst: 10_000, perSecond: 3_000 },
  headers: { name: 'HEADERS', burst: 10_000, perSecond: 3_000 },
  reset: { name: 'RST_STREAM', burst: 10_000, perSecond: 3_000 },
  settings: { name: 'SETTINGS', burst: 16, perSecond: 1 },
  ping: { name: 'PING', burst: 64, perSecond: 2 },
  goAway: { name: 'GOAWAY', burst: 4, perSecond: 1 },
  windowUpdate: { name: 'WINDOW_UPDATE', burst: 20_000, perSecond: 10_000 },
  unknown: { name: 'frames of an unknown type', burst: 16, perSecond: 1 },
} as const satisfies Record<string, Kind>;

export class FrameAllowance {
  readonly #buckets: Readonly<Record<keyof typeof kinds, TokenBucket>>;

  /** `now_ms`: monotonic. */
  constructor(now_ms: () => number) {
    const toBucket = ({ burst, perSecond }: Kind) =>
      createTokenBucket({ capacity: burst, refillPerSecond: perSecond, now_ms });
    this.#buckets = Object.fromEntries(Object.entries(kinds).map(([kind, rate]) => [kind, toBucket(rate)])) as Record<
      keyof typeof kinds,
      TokenBucket
    >;
  }

  /** Counts a frame. Returns why the connection has to end; undefined while it may go on. */
  refusalOf(type: number, flags: number, length_bytes: number): string | undefined {
    if (length_bytes > FRAME_MAX_BYTES) return 'a frame above 16 KB';
    switch (type) {
      case frameType.data:
        if ((flags & PADDED) !== 0) return 'padded DATA';
        return length_bytes === 0 ? this.#take('emptyData') : undefined;
      case frameType.headers:
        return this.#take('headers', 1 + Math.floor(length_bytes / HEAD_UNIT_BYTES));
      case frameType.reset:
        return this.#take('reset');
      case frameType.settings:
        return this.#take('settings');
      case frameType.pushPromise:
        return 'PUSH_PROMISE';
      case frameType.ping:
        return this.#take('ping');
      case frameType.goAway:
        return this.#take('goAway');
      case frameType.windowUpdate:
        return this.#take('windowUpdate');
      case frameType.continuation:
        return 'CONTINUATION: no head of an agent is above 16 KB';
      default:
        return this.#take('unknown');
    }
  }

  #take(kind: keyof typeof kinds, count = 1): string | undefined {
    return this.#buckets[kind].take(count) ? undefined : `too many ${kinds[kind].name}`;
  }
}
