// Carries out the steps that are due: as soon as they are asked for, and later by a timer. A slow provider takes no place from another.
import type { Clock } from '../../core/clock.ts';
import type { Log } from '../../core/log.ts';
import type { CarryOutStep } from './carry-out-step.ts';
import type { ExtensionClaims } from './extension-claims.ts';

export interface ExtensionWorker extends AsyncDisposable {
  /** Tries what is due of this extension now, where its provider has a place. Settles when it was tried. Never rejects. */
  run(id: string, provider: string): Promise<void>;
  /** Looks for what is due. Call it after the database has something new. */
  look(): void;
}

export interface ExtensionWorkerDeps {
  readonly claims: Pick<ExtensionClaims, 'listDue' | 'nextDue'>;
  readonly carryOut: CarryOutStep;
  /** How often the database is asked for what other processes have left; never when undefined. */
  readonly look_ms: number | undefined;
  readonly clock: Clock;
  readonly log: Log;
}

const OF_PROVIDER_MAX = 8;
const ALL_MAX = 128;
const BATCH = 64;
const SOONEST_MS = 20;
const AFTER_FAILURE_MS = 2_000;
/** The longest that a timer of Node counts right. */
const TIMER_MAX_MS = 3_600_000;

export function createExtensionWorker({ claims, carryOut, look_ms, clock, log }: ExtensionWorkerDeps): ExtensionWorker {
  const running = new Map<string, Promise<void>>();
  const ofProvider = new Map<string, number>();
  const stop = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  let looking: Promise<void> | undefined;
  let isAskedAgain = false;

  function schedule(wait_ms: number): void {
    clearTimeout(timer);
    if (stop.signal.aborted) return;
    timer = setTimeout(look, Math.min(Math.max(wait_ms, SOONEST_MS), look_ms ?? TIMER_MAX_MS));
    timer.unref();
  }

  const busy = () => [...ofProvider].flatMap(([provider, count]) => (count >= OF_PROVIDER_MAX ? [provider] : []));

  async function lookOnce(): Promise<void> {
    try {
      const now_ms = clock.wall_ms();
      const due = await claims.listDue(now_ms, busy(), BATCH);
      const started = due.filter(({ id, provider }) => start(id, provider) !== undefined);
      if (stop.signal.aborted) return;
      // Where there is no place, the end of a step looks again.
      if (due.length > 0) return schedule(started.length > 0 ? 0 : AFTER_FAILURE_MS);
      const next = await claims.nextDue(busy());
      if (next !== undefined) schedule(next - clock.wall_ms());
      else if (look_ms !== undefined) schedule(look_ms);
    } catch (error) {
      if (stop.signal.aborted) return;
      log.error({ err: error }, 'what is due of extensions could not be read');
      schedule(AFTER_FAILURE_MS);
    }
  }

  function look(): void {
    if (stop.signal.aborted) return;
    if (looking !== undefined) {
      isAskedAgain = true;
      return;
    }
    looking = lookOnce().finally(() => {
      looking = undefined;
      if (!isAskedAgain) return;
      isAskedAgain = false;
      look();
    });
  }

  /** Undefined where there is no place, or it is being tried. */
  function start(id: string, provider: string): Promise<void> | undefined {
    const count = ofProvider.get(provider) ?? 0;
    if (stop.signal.aborted || running.has(id) || running.size >= ALL_MAX || count >= OF_PROVIDER_MAX) return undefined;
    ofProvider.set(provider, count + 1);
    const step = tryOnce(id).finally(() => {
      running.delete(id);
      const left = (ofProvider.get(provider) ?? 1) - 1;
      if (left === 0) ofProvider.delete(provider);
      else ofProvider.set(provider, left);
      look();
    });
    running.set(id, step);
    return step;
  }

  async function tryOnce(id: string): Promise<void> {
    try {
      await carryOut(id, stop.signal);
    } catch (error) {
      // The claim ends by itself, and the step is due again.
      if (!stop.signal.aborted)
        log.error({ err: error, extension: id }, 'a step of an extension could not be recorded');
    }
  }

  return {
    async run(id, provider) {
      const step = start(id, provider) ?? running.get(id);
      await step;
    },
    look,
    async [Symbol.asyncDispose]() {
      stop.abort(new Error('the platform ends'));
      clearTimeout(timer);
      await Promise.all([looking, ...running.values()]);
    },
  };
}
