// Recovers once from a resume that there was none, with parts of its own that reach nothing. V8 compiles a function when it runs for the
// first time: without this, a machine that was just restored would compile all of a recovery while callers wait at its gate.
import { systemClock } from '../../core/clock.ts';
import type { Log } from '../../core/log.ts';
import { createKernel } from '../../linux/kernel/kernel.ts';
import { createEventHub } from '../events/event-hub.ts';
import { createPartBoard } from '../parts.ts';
import type { Upstream } from '../upstream.ts';
import { createIncarnation } from './incarnation.ts';
import { createResume, type ResumePart } from './resume.ts';

/** What a start sets off is over by then. */
const AFTER_START_MS = 10_000;

export interface RehearseLaterOptions {
  /** Makes connections of its own. */
  readonly open: () => Promise<Pick<Upstream, 'cut'> & AsyncDisposable>;
  readonly log: Pick<Log, 'warn'>;
  readonly signal: AbortSignal;
  readonly after_ms?: number;
}

/** Rehearses once the agent has settled, unless `signal` is aborted before. A rehearsal that fails is logged. */
export function rehearseLater({ open, log, signal, after_ms = AFTER_START_MS }: RehearseLaterOptions): void {
  const timer = setTimeout(() => {
    rehearse(open).catch((error: unknown) => log.warn({ err: error }, 'a recovery could not be rehearsed'));
  }, after_ms);
  timer.unref();
  signal.addEventListener('abort', () => clearTimeout(timer), { once: true });
}

async function rehearse(open: RehearseLaterOptions['open']): Promise<void> {
  await using upstream = await open();
  await rehearseResume(upstream);
}

/** Nothing looks by itself in the time that it takes. */
const NEVER_MS = 60_000;

/** `upstream` has connections of its own, which are cut. Resolves when the recovery is over; nothing of it is left or told then. */
export async function rehearseResume(upstream: Pick<Upstream, 'cut'>): Promise<void> {
  const over = Promise.withResolvers<void>();
  const stop = new AbortController();
  let generation = 0;
  await using resume: ResumePart = createResume({
    clock: systemClock,
    kernel: { ...createKernel(), generation: () => ({ rehearsed: generation }) },
    hub: createEventHub({
      clock: systemClock,
      generation: () => generation,
      sequence: { load: () => 0, reserve: () => undefined },
    }),
    part: createPartBoard(systemClock).part('resume'),
    log: untold,
    upstream,
    incarnation: createIncarnation({ load: () => undefined, save: () => undefined }),
    tick_ms: NEVER_MS,
  });
  resume.onRecovered(over.resolve);
  resume.start(stop.signal, () => []);
  generation += 1;
  resume.check();
  await Promise.all([resume.gate.wait(), over.promise]);
  stop.abort();
}

const ignore = () => undefined;
const untold: Log = { debug: ignore, info: ignore, warn: ignore, error: ignore, fatal: ignore };
