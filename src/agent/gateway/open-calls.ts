// The calls that are being forwarded now, so that a change of policy can end those that it no longer allows.
import type { RemoraError } from '../../core/remora-error.ts';
import type { Target } from './judge.ts';

export interface OpenCall extends Disposable {
  readonly target: Target;
  readonly signal: AbortSignal;
}

export interface OpenCalls {
  open(target: Target): OpenCall;
  /** Ends every call for which `judge` gives a reason, and returns what was ended. */
  cut(
    judge: (target: Target) => RemoraError | undefined,
  ): readonly { readonly target: Target; readonly reason: RemoraError }[];
  readonly size: number;
}

export function createOpenCalls(): OpenCalls {
  const calls = new Map<OpenCall, AbortController>();
  return {
    open(target) {
      const controller = new AbortController();
      const call: OpenCall = {
        target,
        signal: controller.signal,
        [Symbol.dispose]: () => {
          calls.delete(call);
        },
      };
      calls.set(call, controller);
      return call;
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
  };
}
