// What follows from one try to deliver a webhook. Pure.
import { RETRY_AFTER_MAX_MS } from '../../core/backoff.ts';
import type { WaitingNotice } from '../store/outbox.ts';

export interface Outcome {
  /** 0 = no answer. */
  readonly status: number;
  /** The header of that name. */
  readonly retryAfter: string | undefined;
}

export type NextTry =
  | { readonly type: 'delivered' }
  | { readonly type: 'again'; readonly due_ms: number }
  | { readonly type: 'given_up'; readonly reason: string };

const FIRST_MS = 1_000;
const LONGEST_MS = 60_000;
const TRIED_FOR_MS = 24 * 3_600_000;
/** The platform has read it and will not take it, however often it comes. 401 is not among them: a clock or a secret may be put right. */
const REFUSALS: readonly number[] = [400, 410, 413, 415, 422];

/** Waits 1 s, then twice as long each time up to a minute, at least as long as the answer says, for a day. */
export function toNextTry(
  { status, retryAfter }: Outcome,
  { tries, added_ms }: WaitingNotice,
  now_ms: number,
): NextTry {
  if (status >= 200 && status < 300) return { type: 'delivered' };
  if (REFUSALS.includes(status)) return { type: 'given_up', reason: `the platform answered ${status}` };
  if (now_ms - added_ms >= TRIED_FOR_MS) {
    return { type: 'given_up', reason: `the platform could not be told for a day; the last status was ${status}` };
  }
  const asked_ms = /^\d{1,9}$/.test(retryAfter ?? '') ? Number(retryAfter) * 1_000 : 0;
  const own_ms = Math.min(LONGEST_MS, FIRST_MS * 2 ** Math.min(tries, 10));
  return { type: 'again', due_ms: now_ms + Math.max(own_ms, Math.min(asked_ms, RETRY_AFTER_MAX_MS)) };
}
