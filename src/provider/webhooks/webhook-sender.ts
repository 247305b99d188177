// Tells the platform of changes to resources: in order for each, again until it has heard, each try with a signature of its own (Extensions API,
// Webhooks from the provider to the platform).
import { extensionHookOperations, signatureHeader } from '../../contract/extension-webhooks.ts';
import { type Clock, systemClock } from '../../core/clock.ts';
import type { Secret } from '../../core/secret.ts';
import { signContent } from '../../core/signature.ts';
import { withoutLastSlashes } from '../../core/without-last-slashes.ts';
import type { Notice, Outbox, WaitingNotice } from '../store/outbox.ts';
import { toNextTry } from './next-try.ts';

export interface WebhookSenderOptions {
  readonly platformApiUrl: string;
  /** The name of this provider at the platform. */
  readonly provider: string;
  /** The shared secrets for webhooks, asked for each try; the newest, which signs, first. */
  readonly webhookSecrets: () => readonly Secret[];
  /** Memory or SQLite, or one of the provider's own. */
  readonly outbox: Outbox;
  /** Called with a webhook that nobody will try again: the platform refused it, or could not be told for a day. */
  readonly onGivenUp: (notice: Notice, reason: string) => void;
  /** Called with a failure of the outbox. */
  readonly onError: (error: unknown) => void;
  readonly clock?: Clock;
}

export interface WebhookSender extends AsyncDisposable {
  /** Resolves when the outbox has it. It is delivered at least once. */
  send(notice: Notice): Promise<void>;
}

const AT_ONCE = 8;
const CALL_LIMIT_MS = 10_000;
/** A try that lasts longer is taken for one whose process was killed. */
const LEASE_MS = 60_000;
/** How often an outbox is looked at that another process may have filled. */
const LOOK_EVERY_MS = 10_000;
const LOOK_AFTER_ERROR_MS = 1_000;

/** Begins with what the outbox holds from before. Its timers keep no process alive. */
export function startWebhookSender(options: WebhookSenderOptions): WebhookSender {
  const { outbox, provider, webhookSecrets, onGivenUp, onError, clock = systemClock } = options;
  const path = extensionHookOperations.receiveExtensionWebhook.path.replace('{provider}', encodeURIComponent(provider));
  const url = withoutLastSlashes(options.platformApiUrl) + path;
  const stopping = new AbortController();
  const tries = new Set<Promise<void>>();
  let timer: NodeJS.Timeout | undefined;
  let looking: Promise<void> | undefined;
  let isStale = false;

  /** Looks at the outbox now, or once more when it is being looked at. */
  function wake(): void {
    if (stopping.signal.aborted) return;
    clearTimeout(timer);
    isStale = true;
    looking ??= lookWhileStale().finally(() => {
      looking = undefined;
    });
  }

  function wakeAfter(delay_ms: number): void {
    clearTimeout(timer);
    if (!stopping.signal.aborted) timer = setTimeout(wake, delay_ms).unref();
  }

  async function lookWhileStale(): Promise<void> {
    try {
      while (isStale && !stopping.signal.aborted) {
        isStale = false;
        await look();
      }
    } catch (error) {
      onError(error);
      wakeAfter(LOOK_AFTER_ERROR_MS);
    }
  }

  async function look(): Promise<void> {
    const free = AT_ONCE - tries.size;
    if (free <= 0) return;
    const now_ms = clock.wall_ms();
    for (const waiting of await outbox.take(now_ms, now_ms + LEASE_MS, free)) {
      const running = deliver(waiting)
        .catch(onError)
        .finally(() => {
          tries.delete(running);
          wake();
        });
      tries.add(running);
    }
    const due_ms = await outbox.nextDue_ms();
    wakeAfter(Math.min(LOOK_EVERY_MS, Math.max(10, (due_ms ?? Number.POSITIVE_INFINITY) - clock.wall_ms())));
  }

  async function deliver(waiting: WaitingNotice): Promise<void> {
    const outcome = await post(waiting.notice);
    // The process ends; the notice comes again.
    if (outcome === undefined) return;
    const next = toNextTry(outcome, waiting, clock.wall_ms());
    if (next.type === 'again') return await outbox.putOff(waiting.id, next.due_ms);
    await outbox.done(waiting.id);
    if (next.type === 'given_up') onGivenUp(waiting.notice, next.reason);
  }

  /** Undefined when the sender ends meanwhile. */
  async function post({ action, resource }: Notice) {
    const [secret] = webhookSecrets();
    if (secret === undefined) throw new TypeError('there is no secret for webhooks');
    const timestamp = String(Math.floor(clock.wall_ms() / 1_000));
    const body = JSON.stringify({ timestamp, action, resource });
    const headers = { 'content-type': 'application/json', [signatureHeader]: signContent(secret, body) };
    const signal = AbortSignal.any([stopping.signal, AbortSignal.timeout(CALL_LIMIT_MS)]);
    try {
      const answer = await fetch(url, { method: 'POST', headers, body, redirect: 'manual', signal });
      await answer.body?.cancel();
      return { status: answer.status, retryAfter: answer.headers.get('retry-after') ?? undefined };
    } catch {
      return stopping.signal.aborted ? undefined : { status: 0, retryAfter: undefined };
    }
  }

  wake();
  return {
    async send(notice) {
      await outbox.add(notice, clock.wall_ms());
      wake();
    },
    async [Symbol.asyncDispose]() {
      stopping.abort();
      clearTimeout(timer);
      await looking;
      await Promise.all(tries);
    },
  };
}
