// Delivers port notices to the platform at least once and in order. They are stored until the platform has accepted them, across
// restarts and resumes.

import { UpstreamError } from '../../client/upstream-error.ts';
import type { PortNotice } from '../../contract/port-notices.ts';
import { createBackoff } from '../../core/backoff.ts';
import { toErrorMessage } from '../../core/error-message.ts';
import { type NoticePlan, planNotices } from '../../core/ports/notice-plan.ts';
import { judgeRefusal } from '../../core/ports/notice-verdict.ts';
import type { PortChange } from '../../core/ports/port-diff.ts';
import { isSameTable, type PortTable } from '../../core/ports/port-table.ts';
import type { Part } from '../parts.ts';
import { createAutoResetEvent } from './auto-reset-event.ts';
import type { NoticeSender } from './notice-sender.ts';
import type { PortLedger, QueuedNotice } from './port-ledger.ts';

export const BATCH_MAX = 200;
/** How many notices may wait. Beyond it none are queued; once there is room, the difference to the open ports is queued. */
export const QUEUE_MAX = 10_000;

export interface OutboxStatus {
  readonly depth: number;
  readonly delivered: number;
  /** How many notices the platform refused for good; they are stored for people to look at. */
  readonly set_aside: number;
  readonly failures: number;
}

export interface Outbox extends AsyncDisposable {
  /** Compares the ports that were announced to the platform with the open ones, and queues the difference. Never throws. */
  reconcile(open: PortTable): void;
  start(signal: AbortSignal): void;
  /** Call it at a resume: the next try is made at once. */
  recover(): void;
  status(): OutboxStatus;
}

export interface OutboxOptions {
  readonly ledger: PortLedger;
  /** Undefined without a platform: then only the announced ports are stored, for the next start. */
  readonly sender: NoticeSender | undefined;
  readonly part: Part;
  readonly random: () => number;
  /** Makes the notice of a change, with an id that is unique for the sprite. */
  readonly toNotice: (change: PortChange) => PortNotice;
}

export function createOutbox(options: OutboxOptions): Outbox {
  const { ledger, sender, part, toNotice } = options;
  const backoff = createBackoff({ random: options.random });
  const work = createAutoResetEvent();
  const retry = createAutoResetEvent();
  const stop = new AbortController();
  const trouble: { keeping?: string; sending?: string } = {};
  let announced = ledger.announcedToTarget;
  let open: PortTable | undefined;
  let behind = false;
  let delivered = 0;
  let batchMax = BATCH_MAX;
  let loop: Promise<void> | undefined;

  function updatePart(): void {
    const reason = trouble.keeping ?? trouble.sending;
    if (reason !== undefined) part.set('degraded', reason);
    else if (sender === undefined) part.set('off', 'no platform: set its address, the sprite and a token');
    else part.set('ok');
  }

  function plan(now: PortTable): NoticePlan {
    if (sender === undefined) return { changes: [], announced: now, behind: false };
    const waiting = ledger.waitingByPort();
    const queued = [...waiting.values()].reduce((sum, count) => sum + count, 0);
    return planNotices({ announced, open: now, waiting, room: QUEUE_MAX - queued });
  }

  function reconcile(now: PortTable): void {
    open = now;
    if (isSameTable(announced, now)) return;
    try {
      const planned = plan(now);
      const notices = planned.changes.map(toNotice);
      ledger.record(announced, planned.announced, notices);
      announced = planned.announced;
      behind = planned.behind;
      delete trouble.keeping;
      if (notices.length > 0) work.set();
    } catch (error) {
      trouble.keeping = `port notices cannot be kept: ${toReason(error)}`;
    }
    updatePart();
  }

  /** Sends one request. Throws when it has to be tried again, and when the ledger cannot be written. */
  async function deliver(to: NoticeSender, batch: readonly QueuedNotice[]): Promise<void> {
    try {
      await to.send(batch, stop.signal);
    } catch (error) {
      const verdict = error instanceof UpstreamError ? judgeRefusal(error.status, batch.length) : 'retry';
      if (verdict === 'retry') throw error;
      if (verdict === 'split') batchMax = 1;
      else setAside(batch, toReason(error));
      return;
    }
    ledger.remove(batch);
    delivered += batch.length;
    batchMax = BATCH_MAX;
    backoff.reset();
    delete trouble.sending;
    updatePart();
    if (behind && open !== undefined) reconcile(open);
  }

  function setAside(batch: readonly QueuedNotice[], reason: string): void {
    for (const notice of batch) ledger.setAside(notice, reason);
    trouble.sending = `the platform refused a port notice, which was set aside: ${reason}`;
    updatePart();
  }

  async function run(to: NoticeSender): Promise<void> {
    while (!stop.signal.aborted) {
      try {
        const batch = ledger.next(batchMax);
        if (batch.length > 0) await deliver(to, batch);
        else await work.wait();
      } catch (error) {
        if (stop.signal.aborted) return;
        trouble.sending = `port notices wait for the platform: ${toReason(error)}`;
        updatePart();
        await retry.wait(backoff.next(error instanceof UpstreamError ? error.retryAfter_ms : undefined));
      }
    }
  }

  function end(): void {
    stop.abort();
    work.set();
    retry.set();
  }

  return {
    reconcile,
    start(signal) {
      updatePart();
      if (sender === undefined) return;
      signal.addEventListener('abort', end, { once: true, signal: stop.signal });
      if (signal.aborted) end();
      loop = run(sender);
    },
    recover() {
      backoff.reset();
      retry.set();
    },
    status: () => ({ depth: ledger.depth(), delivered, set_aside: ledger.aside(), failures: backoff.failures }),
    async [Symbol.asyncDispose]() {
      end();
      await loop;
    },
  };
}

function toReason(error: unknown): string {
  if (!(error instanceof UpstreamError)) return toErrorMessage(error);
  return error.status === undefined ? error.message : `${error.status} ${error.code}: ${error.message}`;
}
