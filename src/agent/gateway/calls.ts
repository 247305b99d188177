// The calls of the gateway from their first byte to their record: forwards them, counts those that are open, and ends them when the
// policies, a resume or the end of this process ask for it.
import { setTimeout as sleep } from 'node:timers/promises';
import { createCallLimits } from '../../core/gateway/call-limits.ts';
import { RemoraError } from '../../core/remora-error.ts';
import type { AuditLog } from './audit/audit-log.ts';
import type { CallMetrics } from './call-metrics.ts';
import { createForwarder, type Forward } from './forwarder.ts';
import type { GatewayOptions } from './gateway-options.ts';
import type { GatewayPlatform } from './gateway-platform.ts';
import { HeldCalls } from './held-calls.ts';
import { type CallTally, createOpenCalls } from './open-calls.ts';
import type { Target } from './policies/judge-call.ts';
import type { Verdicts } from './policies/verdicts.ts';
import { createRecheck, type Recheck } from './recheck-open-calls.ts';

/** How often `abandon` looks whether the calls that it cut have left their records. */
const ABANDON_WAITS = 50;
const ABANDON_WAIT_MS = 10;

export interface CallsOptions extends Omit<GatewayOptions, 'gate'>, Verdicts {
  readonly gate: () => Promise<void> | undefined;
  readonly platform: GatewayPlatform;
  readonly audit: AuditLog;
  readonly metrics: CallMetrics;
  /** Called when the platform refused a call that was allowed here. */
  readonly onRefused: () => void;
}

export interface Calls extends Disposable {
  readonly forward: Forward;
  readonly held: HeldCalls;
  /** Ends the open calls that changed policies no longer allow. */
  readonly recheck: Recheck;
  /** Ends the WebSockets, because their other ends are gone after a resume. */
  endTunnels(): void;
  /** Ends every call with `reason`, and resolves when they have left their records, or after half a second. */
  abandon(reason: RemoraError): Promise<void>;
  /** How many calls are being forwarded. */
  readonly size: number;
  tally(): CallTally;
}

export function createCalls(options: CallsOptions): Calls {
  const { clock, config, hub, log } = options;
  const openCalls = createOpenCalls(onCut);
  const limits = createCallLimits({
    limit: () => ({ perSecond: config.callsPerSecond, inFlight: config.callsInFlight }),
    noun: 'connector',
    now_ms: clock.mono_ms,
  });
  const recheck = createRecheck({ openCalls, now_ms: clock.mono_ms, onTurn: options.onTurn });
  const heldCalls = new HeldCalls();
  const forward = createForwarder({ ...options, settings: config, openCalls, heldCalls, limits });

  function onCut(target: Target, reason: RemoraError): void {
    const fields = { provider: target.provider, connector_id: target.connector_id, code: reason.code };
    log.warn({ ...fields, reason: reason.message }, 'a call was ended, because it is not allowed any more');
    hub.publish('gateway_call_ended', fields);
  }

  return {
    forward,
    held: heldCalls,
    recheck,
    endTunnels() {
      openCalls.endTunnels(new RemoraError('resuming', 'the machine was resumed; connect again'));
    },
    async abandon(reason) {
      openCalls.endAll(reason);
      for (let waits = 0; waits < ABANDON_WAITS && heldCalls.unrecorded > 0; waits += 1) await sleep(ABANDON_WAIT_MS);
    },
    get size() {
      return openCalls.size;
    },
    tally: openCalls.tally,
    [Symbol.dispose]: () => recheck[Symbol.dispose](),
  };
}
