// The upgrade of this agent: it finds out what is on the disk, waits until its own end would cut nobody off, says which version follows,
// and ends to be started again.
//
//   asked ──nothing newer──▶ answered
//     │newer, and nothing in flight
//     ▼
//   accepted ──▶ the process ends, and the next one serves
//     └─ it cannot be ended now ──▶ serves on, and may be asked again
import { setTimeout as sleep } from 'node:timers/promises';
import type { localUpgradeOperations } from '../../contract/local/upgrade.ts';
import { RemoraError } from '../../core/remora-error.ts';
import { type Handlers, Reply } from '../../http/handler.ts';
import type { Caller } from '../access/authenticator.ts';
import { toAnswer } from './to-answer.ts';

export interface UpgradeOptions {
  readonly version: string;
  /** The version of the program on the disk. Throws `start_failed`. */
  readonly newest: () => Promise<string>;
  /** Why nobody would start this process again; undefined when somebody would. */
  readonly whyNot: () => string | undefined;
  /** What the end of this process would cut off, each with how often. */
  readonly inFlight: () => Promise<ReadonlyMap<string, number>>;
  /** Ends this process to be started again; rejects when that cannot be. */
  readonly begin: () => Promise<never>;
  readonly quiet_ms?: number;
}

export interface Upgrade {
  readonly handlers: Handlers<typeof localUpgradeOperations, Caller>;
}

/** How long calls in flight are waited for. */
const QUIET_MS = 20_000;
const LOOK_AGAIN_MS = 200;
/** What the answer needs to leave before its connection ends. */
const ANSWER_MS = 200;

export function createUpgrade(options: UpgradeOptions): Upgrade {
  const { version, quiet_ms = QUIET_MS } = options;
  let isUnderWay = false;

  async function waitForQuiet(signal: AbortSignal): Promise<void> {
    const end_ms = performance.now() + quiet_ms;
    for (;;) {
      const open = await options.inFlight();
      if (open.size === 0) return;
      if (performance.now() >= end_ms) throw toHeld(open);
      await sleep(LOOK_AGAIN_MS, undefined, { signal });
    }
  }

  function begin(): void {
    options.begin().catch(() => {
      isUnderWay = false;
    });
  }

  /** The version on the disk, once nothing is in its way. */
  async function prepare(force: boolean, signal: AbortSignal): Promise<string> {
    const newest = await options.newest();
    if (newest !== version && !force) await waitForQuiet(signal);
    return newest;
  }

  return {
    handlers: {
      async upgradeAgent({ query, signal }) {
        const whyNot = options.whyNot();
        if (whyNot !== undefined) throw toNotImplemented(whyNot);
        if (isUnderWay) throw new RemoraError('conflict', 'another upgrade is under way', { retryAfter_ms: 1_000 });
        isUnderWay = true;
        let isBegun = false;
        try {
          const newest = await prepare(query.force, signal);
          if (newest === version) return undefined;
          isBegun = true;
          setTimeout(begin, ANSWER_MS);
          return new Reply(202, toAnswer(version, newest));
        } finally {
          if (!isBegun) isUnderWay = false;
        }
      },
    },
  };
}

function toNotImplemented(missing: string): RemoraError {
  const message = `this agent cannot be upgraded in place: ${missing}; restart it, or the machine, instead`;
  return new RemoraError('not_implemented', message, { details: { missing } });
}

function toHeld(open: ReadonlyMap<string, number>): RemoraError {
  const list = [...open].map(([owner, count]) => ({ owner, count }));
  const names = list.map(({ owner, count }) => `${owner} (${count})`).join(', ');
  const message = `an upgrade would cut off ${names}; wait, end it, or say force=true`;
  return new RemoraError('held', message, { details: { in_flight: list } });
}
