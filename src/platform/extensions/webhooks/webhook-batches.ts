// Takes the webhooks that come at once in one transaction: what is durable is written once for all of them.
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { WebhookOutcome } from '../../../contract/extension-records.ts';
import type { ExtensionWebhook } from '../../../contract/extension-webhooks.ts';
import type { NewWebhook } from './webhook-store.ts';

export interface GivenWebhook {
  readonly webhook: ExtensionWebhook;
  readonly recorded: NewWebhook;
}

export interface Taken {
  readonly outcome: WebhookOutcome;
  /** The app that has lost variables; null for none. */
  readonly app: string | null;
}

/** Undefined for one that came before. */
type TakeAll = (provider: string, given: readonly GivenWebhook[]) => Promise<readonly (Taken | undefined)[]>;

interface Waiting {
  readonly given: GivenWebhook;
  readonly end: PromiseWithResolvers<Taken | undefined>;
}

/** Other queries wait for a transaction. */
const BATCH_MAX = 32;
/** How long a batch may wait for more, while each turn of the event loop brings some. */
const GATHER_MS = 4;

/** `takeAll` runs once at a time for each provider. Each webhook settles with its own outcome: one that fails fails alone. */
export function createWebhookBatches(takeAll: TakeAll) {
  const waiting = new Map<string, Waiting[]>();

  async function takeEach(provider: string, batch: readonly Waiting[]): Promise<void> {
    for (const { given, end } of batch) {
      try {
        end.resolve((await takeAll(provider, [given]))[0]);
      } catch (error) {
        end.reject(error);
      }
    }
  }

  /** A write blocks the event loop before other connections are read, so that without a wait each batch would hold one webhook. */
  async function gather(queue: readonly Waiting[]): Promise<void> {
    const begun_ms = performance.now();
    let seen = 0;
    while (seen < queue.length && queue.length < BATCH_MAX && performance.now() - begun_ms < GATHER_MS) {
      seen = queue.length;
      await nextTurn();
    }
  }

  async function run(provider: string, queue: Waiting[]): Promise<void> {
    while (queue.length > 0) {
      await gather(queue);
      const batch = queue.splice(0, BATCH_MAX);
      try {
        const taken = await takeAll(
          provider,
          batch.map(({ given }) => given),
        );
        for (const [index, { end }] of batch.entries()) end.resolve(taken[index]);
      } catch {
        await takeEach(provider, batch);
      }
    }
    waiting.delete(provider);
  }

  return async (provider: string, given: GivenWebhook): Promise<Taken | undefined> => {
    const end = Promise.withResolvers<Taken | undefined>();
    const queue = waiting.get(provider);
    if (queue !== undefined) queue.push({ given, end });
    else {
      const first = [{ given, end }];
      waiting.set(provider, first);
      void run(provider, first);
    }
    return await end.promise;
  };
}
