// The upgrade of this agent: it finds out what is on the disk, waits until a new image of the process would cut nobody off, and asks for
// that image. The caller at the socket is answered by the new image, on the connection that is handed over to it.
//
//   asked ──nothing newer──▶ answered
//     │newer, and nothing in flight
//     ▼
//   begun ──▶ the next image answers
//     └─ the image cannot be replaced ──▶ refused
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { localUpgradeOperations } from '../../contract/local/upgrade.ts';
import { RemoraError } from '../../core/remora-error.ts';
import { type Handlers, Reply } from '../../http/handler.ts';
import { socketDescriptor } from '../../http/socket-descriptor.ts';
import type { Caller } from '../access/authenticator.ts';
import type { RestartState } from '../hot-restart/restart-state.ts';
import { toAnswer } from './to-answer.ts';

export interface UpgradeOptions {
  readonly version: string;
  /** The version of the program on the disk. Throws `start_failed`. */
  readonly newest: () => Promise<string>;
  /** Why the image of this process cannot be replaced; undefined when it can. */
  readonly whyNot: () => string | undefined;
  /** What a new image would cut off, each with how often. */
  readonly inFlight: () => Promise<ReadonlyMap<string, number>>;
  /** Asks for a new image of the process. */
  readonly begin: () => void;
  readonly quiet_ms?: number;
}

export interface Upgrade {
  readonly handlers: Handlers<typeof localUpgradeOperations, Caller>;
  /** Takes the connection of the caller who waits out of the hands of the server. Undefined without such a caller. */
  handOver(duplicate: (fd: number) => number): RestartState['upgrade'];
  /** The image is kept. No effect without an upgrade. */
  fail(reason: string): void;
}

/** How long calls in flight are waited for. */
const QUIET_MS = 20_000;
const LOOK_AGAIN_MS = 200;
/** What the answer over the channel needs to leave before the channel ends. */
const ANSWER_MS = 200;

interface Waiting {
  readonly socket: Socket;
  readonly reject: (error: RemoraError) => void;
}

export function createUpgrade(options: UpgradeOptions): Upgrade {
  const { version, quiet_ms = QUIET_MS } = options;
  let isUnderWay = false;
  let waiting: Waiting | undefined;

  async function waitForQuiet(signal: AbortSignal): Promise<void> {
    const end_ms = performance.now() + quiet_ms;
    for (;;) {
      const open = await options.inFlight();
      if (open.size === 0) return;
      if (performance.now() >= end_ms) throw toHeld(open);
      await sleep(LOOK_AGAIN_MS, undefined, { signal });
    }
  }

  /** The version on the disk, once nothing is in its way. */
  async function prepare(force: boolean, signal: AbortSignal): Promise<string> {
    const newest = await options.newest();
    if (newest !== version && !force) await waitForQuiet(signal);
    return newest;
  }

  return {
    handlers: {
      async upgradeAgent({ query, principal, request, signal }) {
        const whyNot = options.whyNot();
        if (whyNot !== undefined) throw toNotImplemented(whyNot);
        if (isUnderWay) throw new RemoraError('conflict', 'another upgrade is under way', { retryAfter_ms: 1_000 });
        isUnderWay = true;
        let isBegun = false;
        try {
          const newest = await prepare(query.force, signal);
          if (newest === version) return undefined;
          isBegun = true;
          if (principal.listener === 'channel') {
            setTimeout(options.begin, ANSWER_MS);
            return new Reply(202, toAnswer(version, newest));
          }
          return await new Promise<never>((_, reject) => {
            waiting = { socket: request.socket, reject };
            options.begin();
          });
        } finally {
          if (!isBegun) isUnderWay = false;
        }
      },
    },
    handOver(duplicate) {
      const fd = waiting === undefined ? undefined : socketDescriptor(waiting.socket);
      if (waiting === undefined || fd === undefined) return undefined;
      const caller = duplicate(fd);
      // Closes this descriptor alone: the connection stays open through the other one.
      waiting.socket.destroy();
      return { version_before: version, caller };
    },
    fail(reason) {
      isUnderWay = false;
      waiting?.reject(toNotImplemented(reason));
      waiting = undefined;
    },
  };
}

function toNotImplemented(missing: string): RemoraError {
  const message = `this agent cannot replace its own process: ${missing}; restart it, or the machine, instead`;
  return new RemoraError('not_implemented', message, { details: { missing } });
}

function toHeld(open: ReadonlyMap<string, number>): RemoraError {
  const list = [...open].map(([owner, count]) => ({ owner, count }));
  const names = list.map(({ owner, count }) => `${owner} (${count})`).join(', ');
  const message = `an upgrade would cut off ${names}; wait, end it, or say force=true`;
  return new RemoraError('held', message, { details: { in_flight: list } });
}
