// How many calls one user of the gateway (a connector, a sprite) may begin each second and have in flight, so that a loop gone
// wild in one of them harms no other.
import { RemoraError } from '../remora-error.ts';
import { createTokenBucket, type TokenBucket } from '../token-bucket.ts';

export interface CallLimit {
  /** Calls that may begin each second; the same number may begin at once. */
  readonly perSecond: number;
  readonly inFlight: number;
}

export interface CallLimitsOptions {
  /** Asked at each call, because a setting may change. */
  readonly limit: () => CallLimit;
  /** What the keys are, for messages: `connector`. */
  readonly noun: string;
  /** Monotonic milliseconds. */
  readonly now_ms: () => number;
}

export interface CallLimits {
  /** Throws `too_many_requests` with the time to wait. Dispose when the call is over. */
  admit(key: string): Disposable;
}

interface User {
  bucket: TokenBucket;
  /** The rate of the bucket. */
  perSecond: number;
  /** Calls in flight. */
  open: number;
}

/** The number of keys at which those without a call in flight are forgotten. */
const KEYS_MAX = 1_000;
const IN_FLIGHT_RETRY_MS = 1_000;

export function createCallLimits({ limit: limitOf, noun, now_ms }: CallLimitsOptions): CallLimits {
  const users = new Map<string, User>();

  function createBucket(perSecond: number): TokenBucket {
    return createTokenBucket({ capacity: Math.max(1, perSecond), refillPerSecond: perSecond, now_ms });
  }

  function userOf(key: string, { perSecond }: CallLimit): User {
    const known = users.get(key);
    if (known !== undefined) {
      if (known.perSecond !== perSecond) Object.assign(known, { perSecond, bucket: createBucket(perSecond) });
      return known;
    }
    if (users.size >= KEYS_MAX) for (const [name, { open }] of users) if (open === 0) users.delete(name);
    const user = { bucket: createBucket(perSecond), perSecond, open: 0 };
    users.set(key, user);
    return user;
  }

  return {
    admit(key) {
      const limit = limitOf();
      const user = userOf(key, limit);
      if (user.open >= limit.inFlight) {
        const message = `this ${noun} has ${limit.inFlight} calls in flight, which is its limit; let some finish`;
        throw new RemoraError('too_many_requests', message, { retryAfter_ms: IN_FLIGHT_RETRY_MS });
      }
      if (!user.bucket.take()) {
        const message = `this ${noun} may begin ${limit.perSecond} calls a second; wait`;
        throw new RemoraError('too_many_requests', message, { retryAfter_ms: user.bucket.wait_ms() });
      }
      return new Admission(user);
    },
  };
}

class Admission implements Disposable {
  #user: User | undefined;

  constructor(user: User) {
    this.#user = user;
    user.open += 1;
  }

  [Symbol.dispose](): void {
    if (this.#user !== undefined) this.#user.open -= 1;
    this.#user = undefined;
  }
}
