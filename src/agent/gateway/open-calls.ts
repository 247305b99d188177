// The calls that are being forwarded now: a change of policy ends those that it no longer allows, and a machine with calls is not
// idle.
import type { RemoraError } from '../../core/remora-error.ts';
import type { Target } from './judge.ts';

export interface OpenCall extends Disposable {
  readonly target: Target;
  readonly signal: AbortSignal;
  readonly isTunnel: boolean;
}

/** What the gateway has to do, for whoever asks whether this machine is idle. */
export interface CallTally {
  /** Calls in flight by `provider/connector_id`. */
  readonly open: ReadonlyMap<string, number>;
  /** All that ever came, also those that were refused or that wait at the gate. */
  readonly total: number;
}

export interface OpenCalls {
  /** Counts a call before anything is decided about it. */
  arrive(): void;
  open(target: Target, isTunnel: boolean): OpenCall;
  /** Ends the WebSockets: after a resume their other ends are gone, and no pool knows them any more. */
  endTunnels(reason: RemoraError): void;
  /** Ends every call for which `judge` gives a reason, and returns what was ended. */
  cut(
    judge: (target: Target) => RemoraError | undefined,
  ): readonly { readonly target: Target; readonly reason: RemoraError }[];
  readonly size: number;
  tally(): CallTally;
}

export function createOpenCalls(): OpenCalls {
  const calls = new Map<OpenCall, AbortController>();
  let total = 0;
  return {
    arrive() {
      total += 1;
    },
    open(target, isTunnel) {
      const controller = new AbortController();
      const call: OpenCall = {
        target,
        isTunnel,
        signal: controller.signal,
        [Symbol.dispose]: () => {
          calls.delete(call);
        },
      };
      calls.set(call, controller);
      return call;
    },
    endTunnels(reason) {
      for (const [call, controller] of [...calls]) if (call.isTunnel) controller.abort(reason);
    },
    cut(judge) {
      const ended: { target: Target; reason: RemoraError }[] = [];
      for (const [call, controller] of [...calls]) {
        const reason = judge(call.target);
        if (reason === undefined) continue;
        calls.delete(call);
        ended.push({ target: call.target, reason });
        controller.abort(reason);
      }
      return ended;
    },
    get size() {
      return calls.size;
    },
    tally() {
      const open = new Map<string, number>();
      for (const { target } of calls.keys()) {
        const owner = `${target.provider}/${target.connector_id}`;
        open.set(owner, (open.get(owner) ?? 0) + 1);
      }
      return { open, total };
    },
  };
}
