// Webhooks that are still to be delivered, in the order in which they were said for each resource.
import type { ExtensionResource } from '../../contract/extension-webhooks.ts';
import { RemoraError } from '../../core/remora-error.ts';
import type { Awaitable } from './awaitable.ts';

/** What a provider says of a resource: everything of a webhook but its time, which each try sets. */
export interface Notice {
  readonly action: 'resource.created' | 'resource.updated' | 'resource.deleted';
  readonly resource: ExtensionResource;
}

export interface WaitingNotice {
  readonly id: number;
  readonly notice: Notice;
  readonly added_ms: number;
  /** How often it was tried in vain. */
  readonly tries: number;
}

/** The number that a memory outbox, and one of SQLite, takes. */
export const NOTICES_MAX = 10_000;

/** Longer than any wait. What is due later than that was put off before the clock was set back, and is due now. */
export const AHEAD_MAX_MS = 600_000;

/** Only the oldest notice of a resource is ever taken, so that the platform hears of them in order. */
export interface Outbox {
  /** Throws `limit_reached` when it is full. */
  add(notice: Notice, now_ms: number): Awaitable<void>;
  /** Takes at most `limit` that are due. Each comes again at `until_ms` unless it is done or put off, so that none is lost with its process. */
  take(now_ms: number, until_ms: number, limit: number): Awaitable<readonly WaitingNotice[]>;
  /** It was delivered, or nobody will try it again. */
  done(id: number): Awaitable<void>;
  /** It failed and is due again at `due_ms`. */
  putOff(id: number, due_ms: number): Awaitable<void>;
  /** When the next one is due; undefined when none waits. */
  nextDue_ms(): Awaitable<number | undefined>;
}

export function fullOutbox(max: number): RemoraError {
  return new RemoraError('limit_reached', `${max} webhooks wait to be delivered; look whether the platform is reached`);
}
