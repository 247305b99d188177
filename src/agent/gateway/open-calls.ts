// The calls that are being forwarded now: a change of policy ends those that it no longer allows, the end of a token those that
// were begun with it, and a machine with calls is not idle.
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
  /** `until` ends the call with its reason, which is thrown when it has done so already. */
  open(target: Target, isTunnel: boolean, until: AbortSignal | undefined): OpenCall;
  /** Ends the WebSockets: after a resume their other ends are gone, and no pool knows them any more. */
  endTunnels(reason: RemoraError): void;
  /** Ends every call for which `judge` gives a reason. */
  cut(judge: (target: Target) => RemoraError | undefined): void;
  readonly size: number;
  tally(): CallTally;
}

/** `onCut` is told of each call that is ended because it is not allowed any more. */
export function createOpenCalls(onCut: (target: Target, reason: RemoraError) => void): OpenCalls {
  const calls = new Map<OpenCall, AbortController>();
  let total = 0;

  function end(call: OpenCall, controller: AbortController, reason: RemoraError): void {
    calls.delete(call);
    onCut(call.target, reason);
    controller.abort(reason);
  }

  return {
    arrive() {
      total += 1;
    },
    open(target, isTunnel, until) {
      until?.throwIfAborted();
      const controller = new AbortController();
      const onEnd = () => end(call, controller, until?.reason);
      const call: OpenCall = {
        target,
        isTunnel,
        signal: controller.signal,
        [Symbol.dispose]: () => {
          calls.delete(call);
          until?.removeEventListener('abort', onEnd);
        },
      };
      calls.set(call, controller);
      until?.addEventListener('abort', onEnd);
      return call;
    },
    endTunnels(reason) {
      for (const [call, controller] of [...calls]) if (call.isTunnel) controller.abort(reason);
    },
    cut(judge) {
      for (const [call, controller] of [...calls]) {
        const reason = judge(call.target);
        if (reason !== undefined) end(call, controller, reason);
      }
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
