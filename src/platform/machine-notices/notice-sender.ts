// Sends the notices of one provider until none is due: a few streams at a time, so that one that is not taken holds up itself only.
import type { Clock } from '../../core/clock.ts';
import type { Log } from '../../core/log.ts';
import type { ExtensionProviders } from '../extension-providers/extension-providers.ts';
import type { SignedCall } from '../provider-calls/signed-call.ts';
import { toDelay, toPause } from './notice-delay.ts';
import type { NoticeStore, WaitingNotice } from './notice-store.ts';
import { sendNotice } from './send-notice.ts';

export interface NoticeSenderDeps {
  readonly store: NoticeStore;
  readonly providers: Pick<ExtensionProviders, 'find'>;
  readonly call: SignedCall;
  readonly clock: Clock;
  /** A number in [0, 1). */
  readonly random: () => number;
  readonly log: Pick<Log, 'error' | 'warn'>;
}

/** How many notices of a provider are on their way at once. */
export const STREAMS_AT_ONCE = 4;
/** How many notices of a provider are kept. */
export const NOTICES_KEPT = 5_000;
/** How long a notice is tried. */
export const NOTICE_LIFE_MS = 86_400_000;
/** Longer than a call may take. */
const LEASE_MS = 60_000;

/** Resolves when nothing is due, or after `signal`, with how many notices it tried to send. Throws what the database throws. */
export type NoticeSender = (provider: string, signal: AbortSignal) => Promise<number>;

export function createNoticeSender(deps: NoticeSenderDeps): NoticeSender {
  const { store, clock, log } = deps;

  async function trim(provider: string): Promise<void> {
    const { dead, dropped } = await store.trim(provider, clock.wall_ms() - NOTICE_LIFE_MS, NOTICES_KEPT);
    if (dead > 0) log.error({ provider, dead }, 'a provider did not take notices for a day; they are given up');
    if (dropped > 0) log.error({ provider, dropped }, 'too many notices wait for a provider; the oldest are given up');
  }

  /** Whether the provider can go on being asked. */
  async function sendOne(notice: WaitingNotice, signal: AbortSignal): Promise<boolean> {
    const provider = await deps.providers.find(notice.provider);
    if (provider === undefined) return false;
    const failed = await sendNotice(deps.call, provider, notice, signal);
    const now_ms = clock.wall_ms();
    if (failed === undefined) {
      await store.deliver(notice, now_ms);
      return true;
    }
    if (signal.aborted) {
      await store.release(notice, now_ms);
      return false;
    }
    const { error, retryAfter_ms } = failed;
    const pause_ms = toPause(retryAfter_ms);
    const pause_until = pause_ms === undefined ? undefined : now_ms + pause_ms;
    const next_at = Math.max(now_ms + toDelay(notice.attempts, deps.random()), pause_until ?? 0);
    await store.delay(notice, { error, now_ms, next_at, pause_until });
    log.warn(
      { provider: notice.provider, notice: notice.event_id, attempts: notice.attempts + 1, reason: error },
      LEFT,
    );
    return pause_ms === undefined;
  }

  return async (provider, signal) => {
    await trim(provider);
    const going = new Set<Promise<void>>();
    let isOpen = true;
    let failure: unknown;
    let tried = 0;
    const start = (notice: WaitingNotice) => {
      const sent = sendOne(notice, signal)
        .then((goesOn) => {
          isOpen &&= goesOn;
        })
        .catch((error: unknown) => {
          isOpen = false;
          failure ??= error;
        })
        .finally(() => going.delete(sent));
      going.add(sent);
    };
    while (!signal.aborted && isOpen) {
      const now_ms = clock.wall_ms();
      const claimed = await store.claim(provider, STREAMS_AT_ONCE - going.size, now_ms, now_ms + LEASE_MS);
      claimed.forEach(start);
      tried += claimed.length;
      if (going.size === 0) break;
      await Promise.race(going);
    }
    await Promise.all(going);
    if (failure !== undefined) throw failure;
    return tried;
  };
}

const LEFT = 'a notice could not be delivered; it is sent again';
