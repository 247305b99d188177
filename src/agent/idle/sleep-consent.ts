// The agent's consent before the platform puts its machine to sleep. It lasts while the call is open: the platform calls the sleep off by
// hanging up, and the agent by a line. No hold is answered meanwhile, so that none is given to a machine that is frozen right then.
import type { SleepLine, SleepRequest, sleepOperations } from '../../contract/local/sleep.ts';
import type { SuspendState } from '../../core/machine/suspend-states.ts';
import { RemoraError } from '../../core/remora-error.ts';
import type { EventSink } from '../../http/event-sink.ts';
import type { Handlers } from '../../http/handler.ts';
import type { IdleWatch } from './idle-watch.ts';
import type { WorkMark } from './work-mark.ts';

export interface SleepConsentOptions {
  readonly watch: Pick<IdleWatch, 'mark'>;
  /** The suspender of this machine: `steps` replace its own. */
  readonly suspend: (steps: {
    readonly recheck: () => Promise<void>;
    readonly mayStart?: () => Promise<void>;
    readonly ask: () => Promise<void>;
  }) => Promise<void>;
  readonly callOff: (message: string) => Promise<void>;
  readonly state: () => SuspendState;
  /** Whether the last suspend that was accepted has happened, and is over. */
  readonly wasResumed: () => boolean;
}

export interface SleepConsent {
  readonly handlers: Handlers<typeof sleepOperations, unknown>;
  /** Call it before a hold is made. Resolves when no sleep that is agreed can come any more, or when the machine is resumed. */
  beforeHold(name: string): Promise<void>;
  /** Call it before a program of this machine has it suspended. `slept`: the machine was asleep meanwhile, and that was the suspend. */
  beforeSuspend(): Promise<'awake' | 'slept'>;
}

/** How often work is looked for while the platform has the consent. */
const LOOK_MS = 25;
/** How long the platform has to hang up after the consent was withdrawn. */
const HANG_UP_MS = 2_000;

interface Consent {
  withdrawn: string | undefined;
  /** Undefined until it is given. */
  sink: EventSink<SleepLine> | undefined;
  readonly over: PromiseWithResolvers<'awake' | 'slept'>;
}

export function createSleepConsent(options: SleepConsentOptions): SleepConsent {
  let current: Consent | undefined;

  function checkOpen(consent: Consent, sink: EventSink<SleepLine>): void {
    if (consent.withdrawn !== undefined) throw new RemoraError('held', `work has arrived: ${consent.withdrawn}`);
    if (sink.closed) throw new RemoraError('conflict', 'the platform has hung up');
  }

  function withdraw(consent: Consent, reason: string): void {
    if (consent.withdrawn !== undefined) return;
    consent.withdrawn = reason;
    const { sink } = consent;
    if (sink === undefined) return;
    sink.send({ type: 'withdrawn', reason });
    const timer = setTimeout(() => sink.end(), HANG_UP_MS).unref();
    sink.onClose(() => clearTimeout(timer));
  }

  /** Resolves when the platform has hung up, or the machine was resumed. */
  async function keep(consent: Consent, mark: WorkMark, sink: EventSink<SleepLine>): Promise<void> {
    const early = mark.arrived();
    if (early !== undefined) {
      await options.callOff(early.message);
      throw early;
    }
    if (options.state() !== 'fenced') throw new RemoraError('conflict', 'the machine was resumed meanwhile');
    consent.sink = sink;
    sink.open();
    sink.send({ type: 'agreed' });
    const closed = Promise.withResolvers<void>();
    sink.onClose(closed.resolve);
    const timer = setInterval(() => {
      if (options.state() !== 'fenced') sink.end();
      const arrived = mark.arrived();
      if (arrived !== undefined) withdraw(consent, arrived.message);
    }, LOOK_MS).unref();
    await closed.promise;
    clearInterval(timer);
    await options.callOff(consent.withdrawn ?? 'the platform called it off');
  }

  async function consentTo({ move, quiet_ms }: SleepRequest, sink: EventSink<SleepLine>): Promise<void> {
    if (current !== undefined || options.state() !== 'awake') {
      throw new RemoraError('conflict', 'a suspend of this machine is under way already');
    }
    const consent: Consent = { withdrawn: undefined, sink: undefined, over: Promise.withResolvers() };
    current = consent;
    try {
      const mark = await options.watch.mark();
      checkIdle(mark, quiet_ms);
      await options.suspend({
        async recheck() {
          checkOpen(consent, sink);
          await mark.recheck();
        },
        // The platform asks for it itself.
        ask: async () => checkOpen(consent, sink),
        // A machine that may not be suspended can be stopped.
        ...(move === 'stop' ? { mayStart: async () => undefined } : {}),
      });
      await keep(consent, mark, sink);
    } finally {
      current = undefined;
      consent.over.resolve(consent.sink !== undefined && options.wasResumed() ? 'slept' : 'awake');
    }
  }

  return {
    handlers: { consentToSleep: ({ body }, sink) => consentTo(body, sink) },
    async beforeHold(name) {
      // The last look at the work, before it is agreed, sees the hold.
      if (current?.sink === undefined) return;
      withdraw(current, `the hold ${name}`);
      await current.over.promise;
    },
    async beforeSuspend() {
      if (current === undefined) return 'awake';
      withdraw(current, 'a program of the machine asks for its suspend');
      return await current.over.promise;
    },
  };
}

/** Throws `held` with what keeps the machine awake. */
function checkIdle({ blockers, idle_ms }: WorkMark, quiet_ms: number): void {
  if (blockers.length === 0 && idle_ms >= quiet_ms) return;
  const details = { blockers, idle_ms: Math.round(idle_ms) };
  const owners = blockers.map(({ owner }) => owner).join(', ');
  const message = owners === '' ? `there was work ${Math.round(idle_ms)} ms ago` : `held awake by ${owners}`;
  throw new RemoraError('held', message, { details });
}
