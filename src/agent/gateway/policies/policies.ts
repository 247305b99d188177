// Keeps the policies current: fetches them at the start, every minute, on a miss and after a resume, one fetch at a time. They are
// kept on disk across a restart, and not used when they are too old.
import { setTimeout as sleep } from 'node:timers/promises';
import { createBackoff } from '../../../core/backoff.ts';
import type { Clock } from '../../../core/clock.ts';
import { toErrorMessage } from '../../../core/error-message.ts';
import { RemoraError } from '../../../core/remora-error.ts';
import { createTokenBucket } from '../../../core/token-bucket.ts';
import { withDeadline } from '../../../core/with-deadline.ts';
import { createKnownPolicies } from './known-policies.ts';
import { type ChangesState, followPolicyChanges, type PolicyChanges } from './policy-changes.ts';
import type { PolicySnapshot } from './policy-snapshot.ts';
import type { PolicySource } from './policy-source.ts';
import type { PolicyStore, StoredPolicies } from './policy-store.ts';

/** How long a call waits for a fetch that might change its verdict. */
const FRESHEN_WAIT_MS = 2_000;
/** Misses that may ask the platform at once, and then each second, so that a program with a wrong id cannot flood it. */
const FRESHEN_BURST = 5;
export interface PolicyUpdate {
  readonly changed: boolean;
  /** Why the last fetch or save failed. */
  readonly problem: string | undefined;
}

export interface PoliciesOptions {
  readonly clock: Clock;
  readonly random: () => number;
  readonly source: PolicySource;
  readonly store: PolicyStore;
  readonly maxAge_ms: number;
  readonly refresh_ms: number;
  /** Waits while the machine is being suspended. */
  readonly gate: () => Promise<void>;
  /** The connections that a request made now uses. A resume replaces them. */
  readonly connections: () => object;
  /** Called after each fetch, and after the stored policies were read. */
  readonly onUpdate: (update: PolicyUpdate) => void;
  /** Called when the state of the platform's stream of changes changes. */
  readonly onChanges: (state: ChangesState) => void;
}

export interface Policies {
  /** Reads the stored policies and begins to fetch; never waits for the platform. */
  start(signal: AbortSignal): void;
  /**
   * The policies to judge calls by, at once while they are young enough. Else it waits for a fetch, and rejects with
   * `policy_unavailable` when there are none or they are too old.
   */
  usable(): PolicySnapshot | Promise<PolicySnapshot>;
  /** Fetches the policies, unless the limit on fetches forbids it. True when they have changed. */
  freshen(): Promise<boolean>;
  /** Called when something changed on the platform: fetches soon, even if an older fetch is still under way. Never waits. */
  changed(): void;
  /** Drops a fetch that is under way and begins another, because a request from before a resume may never be answered. */
  refreshNow(): Promise<void>;
  /** The last known policies, whatever their age. */
  readonly snapshot: PolicySnapshot | undefined;
  /** Age of the policies; infinite when there are none or the clock cannot tell. */
  readonly age_ms: number;
  readonly isUsable: boolean;
}

export function createPolicies(options: PoliciesOptions): Policies {
  const { clock, store } = options;
  const known = createKnownPolicies(clock, options.maxAge_ms);
  const backoff = createBackoff({ random: options.random });
  const bucket = createTokenBucket({ capacity: FRESHEN_BURST, refillPerSecond: 1, now_ms: clock.mono_ms });
  let nap = new AbortController();
  let changes: PolicyChanges | undefined;
  let isStale = false;
  let running: { readonly done: Promise<boolean>; readonly abort: AbortController } | undefined;

  /** Never throws. Resolves to whether the platform answered. */
  async function fetch(signal: AbortSignal): Promise<boolean> {
    // Taken before the request, because the platform may have read the policies at any time since.
    const asked = { wall_ms: clock.wall_ms(), mono_ms: clock.mono_ms() };
    try {
      const document = await options.source.fetch(signal);
      if (signal.aborted) return false;
      const stored = { document, fetched_at_ms: asked.wall_ms };
      const changed = known.adopt(stored, asked.mono_ms);
      options.onUpdate({ changed, problem: save(stored) });
      return true;
    } catch (error) {
      if (!signal.aborted) options.onUpdate({ changed: false, problem: `the platform: ${toErrorMessage(error)}` });
      return false;
    }
  }

  function save(stored: StoredPolicies): string | undefined {
    try {
      store.save(stored);
      return undefined;
    } catch (error) {
      return `the policies cannot be kept for a restart: ${toErrorMessage(error)}`;
    }
  }

  function refresh(): Promise<boolean> {
    if (running !== undefined) return running.done;
    const abort = new AbortController();
    const mine = { abort, done: fetch(abort.signal) };
    running = mine;
    const clear = () => {
      if (running === mine) running = undefined;
    };
    mine.done.then(clear, clear);
    return mine.done;
  }

  /** Waits for a refresh, but not for long: a caller waits too. */
  async function refreshSoon(): Promise<void> {
    await withDeadline(FRESHEN_WAIT_MS, refresh()).catch(() => undefined);
  }

  async function run(signal: AbortSignal): Promise<void> {
    // A fetch at half of the age limit leaves time for a second try before calls are refused.
    const refresh_ms = Math.min(options.refresh_ms, options.maxAge_ms / 2);
    while (!signal.aborted) {
      nap = new AbortController();
      if (isStale) await running?.done;
      isStale = false;
      const answered = await options.gate().then(refresh, () => false);
      if (answered) backoff.reset();
      if (isStale) continue;
      const wait_ms = answered ? refresh_ms * (0.9 + 0.2 * options.random()) : backoff.next();
      const awake = AbortSignal.any([signal, nap.signal]);
      await sleep(wait_ms, undefined, { signal: awake, ref: false }).catch(() => undefined);
    }
    running?.abort.abort();
  }

  async function fetchUsable(): Promise<PolicySnapshot> {
    if (running !== undefined || bucket.take()) await refreshSoon();
    const later = known.usable;
    if (later !== undefined) return later;
    const message =
      known.snapshot === undefined
        ? 'the policies have not been fetched from the platform yet, so every call is refused'
        : 'the policies are too old and the platform does not answer, so every call is refused';
    throw new RemoraError('policy_unavailable', message, { retryAfter_ms: 1_000 });
  }

  return {
    start(signal) {
      const stored = store.load();
      if (stored !== undefined) options.onUpdate({ changed: known.adopt(stored, undefined), problem: undefined });
      void run(signal);
      changes = followPolicyChanges({ ...options, onChange: this.changed, onState: options.onChanges }, signal);
    },
    usable: () => known.usable ?? fetchUsable(),
    async freshen() {
      if (!bucket.take()) return false;
      const before = known.snapshot;
      await refreshSoon();
      return known.snapshot !== before;
    },
    changed() {
      isStale = true;
      nap.abort();
    },
    async refreshNow() {
      backoff.reset();
      changes?.redial();
      running?.abort.abort();
      running = undefined;
      await refresh();
    },
    get snapshot() {
      return known.snapshot;
    },
    get age_ms() {
      return known.age_ms;
    },
    get isUsable() {
      return known.usable !== undefined;
    },
  };
}
