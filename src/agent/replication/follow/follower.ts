// Follows the node's stream: connects, reads to the end, and connects again, with at most one connection at any time.
// follower-states.ts has the states.
import { setTimeout as sleep } from 'node:timers/promises';
import type { FollowerState } from '../../../contract/local/replication.ts';
import { createBackoff } from '../../../core/backoff.ts';
import type { Clock } from '../../../core/clock.ts';
import type { Upstream } from '../../upstream.ts';
import { type FollowerListener, followConnection } from './follow-connection.ts';
import { FollowFailure } from './follow-failure.ts';
import { type FollowerEvent, nextFollowerState } from './follower-states.ts';
import { type FollowerTiming, followerTiming } from './follower-timing.ts';

const FENCE_POLL_MS = 100;

export interface FollowerOptions {
  readonly node: URL;
  readonly clock: Clock;
  /** A number in [0, 1), from urandom. */
  readonly random: () => number;
  /** Called for each connection, because a resume replaces the dispatcher. */
  readonly dispatcher: () => Upstream['dispatcher'];
  /** False while a suspend is under way: the follower does not connect then, so that no connection is frozen half open. */
  readonly mayConnect: () => boolean;
  readonly listener: FollowerListener;
  readonly timing?: Partial<FollowerTiming>;
}

export interface FollowerStatus {
  readonly state: FollowerState;
  readonly since_ms: number;
  readonly connects: number;
  readonly failures: number;
  readonly last: { readonly failure: FollowFailure; readonly at_ms: number } | undefined;
}

export interface Follower {
  /** Runs until `signal` aborts. Nothing that a node does makes it throw. */
  run(signal: AbortSignal): Promise<void>;
  /**
   * Call it when a resume has replaced all connections: drops one that is older and connects at once. Resolves when `init` was
   * read, rejects when that attempt failed.
   */
  recover(): Promise<void>;
  status(): FollowerStatus;
}

export function createFollower(options: FollowerOptions): Follower {
  const { clock, random } = options;
  const timing = { ...followerTiming, ...options.timing };
  const backoff = createBackoff({ random });
  let state: FollowerState = 'idle';
  let since_ms = clock.wall_ms();
  let connects = 0;
  let last: FollowerStatus['last'];
  let dialled_ms = Number.NEGATIVE_INFINITY;
  let current = new AbortController();
  let resumed = false;
  /** The dispatcher of the current connection; undefined while there is none. */
  let dialledOver: Upstream['dispatcher'] | undefined;
  const waiting: PromiseWithResolvers<void>[] = [];

  function move(event: FollowerEvent): void {
    const next = nextFollowerState(state, event);
    if (next === state) return;
    state = next;
    since_ms = clock.wall_ms();
    if (next === 'following') for (const waiter of waiting.splice(0)) waiter.resolve();
  }

  /** Waits until connecting is due and allowed. A resume shortens the delay, but never the spacing of two attempts. */
  async function untilDue(delay_ms: number, signal: AbortSignal): Promise<void> {
    await pause(delay_ms);
    while (!signal.aborted) {
      const spacing_ms = dialled_ms + timing.spacing_ms - clock.mono_ms();
      if (resumed) {
        resumed = false;
        move('resumed');
        backoff.reset();
        await pause(random() * timing.resume_ms);
      } else if (spacing_ms > 0) {
        await pause(spacing_ms);
      } else if (options.mayConnect()) {
        return;
      } else {
        move('fenced');
        await pause(FENCE_POLL_MS);
      }
    }
  }

  async function pause(ms: number): Promise<void> {
    if (ms <= 0) return;
    await sleep(ms, undefined, { signal: current.signal }).catch(() => undefined);
    if (current.signal.aborted) current = new AbortController();
  }

  return {
    async run(signal) {
      const stop = () => current.abort(new FollowFailure('stopped', 'the agent is stopping'));
      signal.addEventListener('abort', stop, { once: true });
      move('start');
      let delay_ms = 0;
      while (!signal.aborted) {
        await untilDue(delay_ms, signal);
        if (signal.aborted) break;
        move('due');
        dialled_ms = clock.mono_ms();
        connects += 1;
        dialledOver = options.dispatcher();
        const { failure, stable } = await followConnection({ ...options, timing, move, end: current });
        dialledOver = undefined;
        current = new AbortController();
        last = { failure, at_ms: clock.wall_ms() };
        move(resumed ? 'resumed' : 'lost');
        if (stable) backoff.reset();
        delay_ms = resumed ? 0 : backoff.next(failure.retryAfter_ms);
        if (!resumed) for (const waiter of waiting.splice(0)) waiter.reject(failure);
      }
      move('stop');
      signal.removeEventListener('abort', stop);
      for (const waiter of waiting.splice(0)) waiter.reject(new FollowFailure('stopped', 'the agent is stopping'));
    },
    recover() {
      if (state === 'idle' || state === 'stopped') return Promise.resolve();
      const isNew = dialledOver === options.dispatcher();
      if (isNew && (state === 'following' || state === 'probing')) return Promise.resolve();
      const waiter = Promise.withResolvers<void>();
      waiting.push(waiter);
      if (isNew) return waiter.promise;
      resumed = true;
      current.abort(new FollowFailure('resumed', 'the machine was resumed, and the old connection is not trusted'));
      return waiter.promise;
    },
    status: () => ({ state, since_ms, connects, failures: backoff.failures, last }),
  };
}
