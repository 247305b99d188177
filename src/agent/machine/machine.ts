// The operations of the machine: its identity, whether it may be suspended, suspending it, and those passed to the machines API.

import { UpstreamError } from '../../client/upstream-error.ts';
import type { machineOperations as localOperations } from '../../contract/local/machine.ts';
import type { Clock } from '../../core/clock.ts';
import { judgeEligibility } from '../../core/machine/suspend-eligibility.ts';
import { RemoraError } from '../../core/remora-error.ts';
import type { Handlers } from '../../http/handler.ts';
import type { EventHub } from '../events/event-hub.ts';
import type { Hooks } from '../hooks/hooks.ts';
import type { LastResume } from '../resume/last-resume.ts';
import type { Interlock } from './interlock.ts';
import { type FactSources, readMachineFacts } from './machine-facts.ts';
import { createMachineRecord } from './machine-record.ts';
import type { MachinesApi } from './machines-api.ts';
import type { SuspendProgress } from './suspend-progress.ts';
import { createSuspender, type LastSuspend, type Suspender } from './suspender.ts';

/** How much longer than the wait itself the answer of a wait may take. */
const PASS_MARGIN_MS = 5_000;

export interface MachineOptions {
  readonly clock: Clock;
  readonly hub: EventHub;
  readonly identity: {
    readonly app: string | undefined;
    readonly machine: string | undefined;
    readonly sprite: string | undefined;
  };
  /** Undefined when no machines API is configured: suspending answers `not_configured`. */
  readonly api: MachinesApi | undefined;
  readonly sources: FactSources;
  readonly interlock: Interlock;
  /** Brings up to date what the interlock knows of processes. Never rejects. */
  readonly lookInside: () => Promise<void>;
  readonly hooks: Hooks;
  /** Checkpoints the databases and closes idle connections. */
  readonly settle: () => Promise<void>;
  readonly check: () => void;
  readonly progress: SuspendProgress;
  readonly generation: () => number;
  readonly lastResume: () => LastResume | undefined;
  /** The last suspend that the former process of the agent knew. */
  readonly lastSuspend?: LastSuspend | undefined;
  /** Ends what the platform prepares. `slept`: the machine was asleep meanwhile, and that was the suspend. */
  readonly beforeSuspend?: () => Promise<'awake' | 'slept'>;
}

export interface Machine extends Disposable {
  readonly handlers: Handlers<typeof localOperations, unknown>;
  readonly suspender: Suspender;
}

export function createMachine(options: MachineOptions): Machine {
  const { api, hooks, identity, interlock } = options;
  const client = api?.client;
  const record = createMachineRecord(options.clock, async () => {
    if (client === undefined || identity.app === undefined || identity.machine === undefined) return undefined;
    const params = { app_name: identity.app, machine_id: identity.machine };
    return await client.call('readMachine', { params, timeout_ms: 2_000 });
  });

  async function eligibility() {
    return judgeEligibility(readMachineFacts(await record.read(), options.sources));
  }

  const suspender = createSuspender({
    clock: options.clock,
    hub: options.hub,
    check: options.check,
    last: options.lastSuspend,
    progress: options.progress,
    interlock: interlock.check,
    announce: interlock.announce,
    async prepare(fields) {
      await interlock.delay();
      await hooks.preSuspend(fields);
      await options.settle();
      await options.lookInside();
    },
    async undo(reason) {
      await hooks.undo(reason);
    },
    async mayStart() {
      configured();
      const [{ eligible, conditions }] = await Promise.all([eligibility(), options.lookInside()]);
      if (eligible) return;
      const reasons = conditions.filter((condition) => condition.verdict === 'fails');
      const message = `this machine cannot be suspended: ${reasons.map((reason) => reason.message).join('; ')}`;
      throw new RemoraError('not_eligible', message, { details: { reasons } });
    },
    async ask() {
      const { api: where, app, machine } = configured();
      const { askSuspend } = await import('./ask-suspend.ts');
      await askSuspend(where, `/v1/apps/${encodeURIComponent(app)}/machines/${encodeURIComponent(machine)}/suspend`);
    },
  });

  function configured() {
    const { app, machine } = identity;
    if (api === undefined || client === undefined) {
      throw new RemoraError(
        'not_configured',
        'no machines API is known; set REMORA_MACHINES_API to unix:/path or a URL',
      );
    }
    if (app === undefined || machine === undefined) {
      throw new RemoraError('not_configured', 'this machine does not know its name; set REMORA_APP and REMORA_MACHINE');
    }
    return { api, client, app, machine };
  }

  async function suspend(force: boolean): Promise<void> {
    if ((await options.beforeSuspend?.()) !== 'slept') await suspender.suspend(force);
  }

  /** Returns the parameters of the path after checking that they name this machine. */
  function thisMachine(params: { app_name: string; machine_id: string }) {
    const known = configured();
    if (params.app_name === known.app && params.machine_id === known.machine) return { params, client: known.client };
    const message = `this is machine ${known.machine} of ${known.app}; only its own calls are passed on`;
    throw new RemoraError('not_this_machine', message);
  }

  return {
    suspender,
    handlers: {
      async machine() {
        const { eligible, conditions } = await eligibility();
        return {
          app: identity.app ?? null,
          id: identity.machine ?? null,
          sprite: identity.sprite ?? null,
          state: suspender.state,
          generation: options.generation(),
          eligibility: { eligible, conditions: [...conditions] },
          last_suspend: suspender.last ?? null,
          last_resume: options.lastResume() ?? null,
        };
      },
      async suspendMe({ query }) {
        await suspend(query.force);
        return { ok: true };
      },
      async suspendThis({ params, query }) {
        thisMachine(params);
        await suspend(query.force);
        return { ok: true };
      },
      async waitThis({ params, query, signal }) {
        const me = thisMachine(params);
        const timeout_ms = query.timeout * 1_000 + PASS_MARGIN_MS;
        return await passed(me.client.call('waitMachine', { params, query, signal, timeout_ms }));
      },
      async startThis({ params, signal }) {
        return await passed(thisMachine(params).client.call('startMachine', { params, signal }));
      },
      async stopThis({ params, body, signal }) {
        return await passed(thisMachine(params).client.call('stopMachine', { params, body, signal }));
      },
    },
    [Symbol.dispose]() {
      suspender[Symbol.dispose]();
    },
  };
}

/** Maps errors of the machines API: its 4xx keep their meaning, all others become a failed or late upstream. */
async function passed<T>(answer: Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (error) {
    if (!(error instanceof UpstreamError)) throw error;
    const said = `the machines API said: ${error.message}`;
    switch (error.status) {
      case 400:
        throw new RemoraError('invalid_request', said, { cause: error });
      case 404:
        throw new RemoraError('not_found', said, { cause: error });
      case 408:
        throw new RemoraError('timeout', said, { cause: error });
      case 409:
        throw new RemoraError('invalid_state', said, { cause: error });
      case undefined:
        throw new RemoraError('upstream_failed', `the machines API could not be reached: ${error.message}`, {
          cause: error,
        });
      default:
        throw new RemoraError('upstream_refused', said, { cause: error });
    }
  }
}
