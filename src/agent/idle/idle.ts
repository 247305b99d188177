// Puts the idle part together: what counts as work, the watch over it, and GET /v1/idle.
import type { taskOperations } from '../../contract/local/tasks.ts';
import type { Clock } from '../../core/clock.ts';
import type { Hold } from '../../core/holds/hold-book.ts';
import type { InsideWork } from '../../core/idle/inside-work.ts';
import type { SuspendState } from '../../core/machine/suspend-states.ts';
import type { RunClock } from '../../core/run-clock.ts';
import type { Handlers } from '../../http/handler.ts';
import { createSs, type Ss } from '../../linux/sockets/ss.ts';
import type { EventHub } from '../events/event-hub.ts';
import { createIdleWatch, type IdleWatch } from './idle-watch.ts';
import { createInboundReader } from './inbound-connections.ts';

export interface IdleOptions {
  readonly clock: Clock;
  readonly runClock: RunClock;
  readonly random: () => number;
  readonly hub: EventHub;
  readonly config: {
    /** Run time without work after which the machine suspends itself; undefined = never. */
    readonly idleAfter_ms: number | undefined;
    readonly idleIgnorePorts: readonly number[];
  };
  readonly holds: () => readonly Hold[];
  readonly calls: () => { readonly open: ReadonlyMap<string, number>; readonly total: number };
  /** What others do in this machine from outside, as of the last `lookInside`, which never rejects. */
  readonly inside: () => InsideWork;
  readonly lookInside: () => Promise<void>;
  readonly suspendState: () => SuspendState;
  /** Whether this machine's node is the primary; undefined when that is not known. */
  readonly isPrimary: () => boolean | undefined;
  /** The ports that are announced now. */
  readonly ports: () => Iterable<number>;
  readonly check: () => void;
  readonly suspend: (recheck: () => Promise<void>) => Promise<void>;
  readonly ss?: Pick<Ss, 'list'>;
  readonly retryMin_ms?: number;
}

export interface Idle extends AsyncDisposable {
  readonly handlers: Handlers<Pick<typeof taskOperations, 'idle'>, unknown>;
  start(signal: AbortSignal): void;
  /** Call it when a resume was noticed. */
  onResumed(): void;
  /** See `IdleWatch.mark`. */
  readonly mark: IdleWatch['mark'];
}

export function createIdle(options: IdleOptions): Idle {
  const { config, hub, clock, runClock, random, check, suspend, retryMin_ms } = options;
  const { idleAfter_ms: after_ms, idleIgnorePorts: ignorePorts } = config;
  let holdChanges = 0;
  let unsubscribe = (): void => undefined;
  const watch = createIdleWatch({
    clock,
    runClock,
    random,
    hub,
    settings: { after_ms, ignorePorts },
    work: () => ({
      holds: options.holds(),
      holdChanges,
      calls: options.calls(),
      inside: options.inside(),
      suspendState: options.suspendState(),
      isPrimary: options.isPrimary(),
    }),
    lookInside: options.lookInside,
    readInbound: createInboundReader({ ss: options.ss ?? createSs(), ports: options.ports, ignorePorts }),
    check,
    suspend,
    ...(retryMin_ms === undefined ? {} : { retryMin_ms }),
  });

  return {
    handlers: {
      async idle() {
        await options.lookInside();
        return watch.status();
      },
    },
    start(signal) {
      unsubscribe = hub.subscribe({
        onEvent({ type }) {
          if (type === 'hold_created' || type === 'hold_released') holdChanges += 1;
        },
      });
      watch.start(signal);
    },
    onResumed: watch.onResumed,
    mark: watch.mark,
    async [Symbol.asyncDispose]() {
      unsubscribe();
      await watch[Symbol.asyncDispose]();
    },
  };
}
