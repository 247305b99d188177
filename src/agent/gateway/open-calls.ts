// The calls that are being forwarded. A change of policy ends those that it no longer allows, the end of a token ends those that
// were begun with it, and a machine with open calls is not idle.
import type { RemoraError } from '../../core/remora-error.ts';
import type { Target } from './policies/judge-call.ts';

export interface OpenCall extends Disposable {
  readonly target: Target;
  readonly signal: AbortSignal;
  readonly isTunnel: boolean;
}

/** What the gateway is doing, for the decision whether this machine is idle. */
export interface CallTally {
  /** Calls in flight by `provider/connector_id`. */
  readonly open: ReadonlyMap<string, number>;
  /** Counts every call since the start, also those that were refused or wait at the gate. */
  readonly total: number;
}

export interface OpenCalls {
  /** Counts a call before anything is decided about it. */
  arrive(): void;
  /** `until` ends the call with its reason. When it is aborted already, its reason is thrown. */
  open(target: Target, isTunnel: boolean, until: AbortSignal | undefined): OpenCall;
  /** Ends the WebSockets: after a resume their other ends are gone, and replacing the connection pool does not end them. */
  endTunnels(reason: RemoraError): void;
  /** Ends every call: this process ends. */
  endAll(reason: RemoraError): void;
  /** The oldest first. */
  list(): readonly OpenCall[];
  has(call: OpenCall): boolean;
  /** Ends a call that is no longer allowed. No effect on one that is over. */
  end(call: OpenCall, reason: RemoraError): void;
  readonly size: number;
  tally(): CallTally;
}

/** `onCut` is called for each call that ends because the policy no longer allows it. */
export function createOpenCalls(onCut: (target: Target, reason: RemoraError) => void): OpenCalls {
  const calls = new Map<OpenCall, AbortController>();
  let total = 0;

  function end(call: OpenCall, reason: RemoraError): void {
    const controller = calls.get(call);
    if (controller === undefined) return;
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
      const onEnd = () => end(call, until?.reason);
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
    endAll(reason) {
      for (const [, controller] of [...calls]) controller.abort(reason);
    },
    list: () => [...calls.keys()],
    has: (call) => calls.has(call),
    end,
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
