// Holds the machine awake over an open connection until `release`. A broken connection is opened again.
import { setTimeout as sleep } from 'node:timers/promises';
import { createBackoff } from '../../core/backoff.ts';
import { toErrorMessage } from '../../core/error-message.ts';
import { randomFraction } from '../../core/urandom.ts';
import type { AgentClient } from '../agent-client.ts';

export interface KeepHoldOptions {
  readonly agent: AgentClient;
  readonly name: string;
  readonly reason: string | undefined;
  readonly mode: 'block' | 'delay';
  /** Go on without the hold when it cannot be made, and keep trying. */
  readonly bestEffort: boolean;
  /** Called with messages for people: the hold was lost, or made again. */
  readonly print: (text: string) => void;
}

export interface KeptHold {
  /** Ends the hold. */
  release(): Promise<void>;
}

/** Resolves once the hold is in force. Rejects with the agent's error, or when there is no agent, unless `bestEffort`. */
export async function openKeptHold(options: KeepHoldOptions): Promise<KeptHold> {
  const { agent, name, reason, mode, print } = options;
  const stop = new AbortController();
  const settled = Promise.withResolvers<void>();
  const backoff = createBackoff({ random: randomFraction });
  let mayFail = options.bestEffort;
  let isLost = false;

  async function holdOnce(): Promise<void> {
    const query = { mode, ...(reason === undefined ? {} : { reason }) };
    const lines = agent.client.stream('holdTask', { params: { name }, query, signal: stop.signal });
    for await (const _held of lines) {
      if (isLost) print(`the machine is held awake by ${name}`);
      isLost = false;
      mayFail = true;
      backoff.reset();
      settled.resolve();
    }
    throw new Error('the agent ended the connection');
  }

  async function keep(): Promise<void> {
    while (!stop.signal.aborted) {
      try {
        await agent.ask(holdOnce);
      } catch (error) {
        if (stop.signal.aborted) return;
        if (!mayFail) throw error;
        if (!isLost) print(`the machine is not held awake (${toErrorMessage(error)}); trying again`);
        isLost = true;
        settled.resolve();
      }
      await sleep(backoff.next(), undefined, { signal: stop.signal }).catch(() => undefined);
    }
  }

  const kept = keep();
  kept.catch(settled.reject);
  await settled.promise;
  return {
    async release() {
      stop.abort();
      await kept;
    },
  };
}
