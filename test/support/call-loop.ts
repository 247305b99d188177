// Callers that never stop: a new connection every few milliseconds, and one that is kept, with everything that went wrong.
import { Agent } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { onTestFinished } from 'vitest';
import { ask } from './ask.ts';

export interface CallLoop {
  /** Ends the loops and says how it went. */
  stop(): Promise<CallReport>;
}

export interface CallReport {
  readonly calls: number;
  /** A refused or broken connection, or a status that is not 200, in words. */
  readonly troubles: readonly string[];
  readonly longest_ms: number;
}

const PAUSE_MS = 4;

export function startCalls(socket: string, target: string): CallLoop {
  const troubles: string[] = [];
  let calls = 0;
  let longest_ms = 0;
  let isOver = false;
  onTestFinished(() => {
    isOver = true;
  });

  async function call(agent?: Agent): Promise<void> {
    const begun_ms = performance.now();
    try {
      const { status, text } = await ask(socket, { target, ...(agent === undefined ? {} : { agent }) });
      if (status !== 200) troubles.push(`${status} ${text}`);
    } catch (error) {
      troubles.push(String(error));
    }
    calls += 1;
    longest_ms = Math.max(longest_ms, performance.now() - begun_ms);
  }

  async function loop(agent?: Agent): Promise<void> {
    while (!isOver) {
      await call(agent);
      await sleep(PAUSE_MS);
    }
  }

  const kept = new Agent({ keepAlive: true, maxSockets: 1 });
  // New connections are made whether or not the one before was answered, as independent callers would.
  const fresh: Promise<void>[] = [];
  const timer = setInterval(() => fresh.push(call()), PAUSE_MS);
  onTestFinished(() => clearInterval(timer));
  const keeping = loop(kept);
  return {
    async stop() {
      isOver = true;
      clearInterval(timer);
      await Promise.all([keeping, ...fresh]);
      kept.destroy();
      return { calls, troubles, longest_ms };
    },
  };
}
