// The calls that are being forwarded. A change of policy ends those that it no longer allows, the end of a token ends those that
// were begun with it, and a machine with open calls is not idle.
import { type Listed, OpenList } from '../../core/open-list.ts';
import type { RemoraError } from '../../core/remora-error.ts';
import { Cut } from '../../http/cut-signal.ts';
import type { Target } from './policies/judge-call.ts';

/** A call on its way, which must be disposed of when it is over. What forwards it listens to it: cutting it ends the call. */
export class OpenCall extends Cut implements Disposable, Listed {
  readonly target: Target;
  readonly isTunnel: boolean;
  /** Its place among all calls that were opened. */
  number = 0;
  place = -1;
  readonly #onOver: (call: OpenCall) => void;

  constructor(target: Target, isTunnel: boolean, onOver: (call: OpenCall) => void) {
    super();
    this.target = target;
    this.isTunnel = isTunnel;
    this.#onOver = onOver;
  }

  [Symbol.dispose](): void {
    this.#onOver(this);
  }
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
  const calls = new OpenList<OpenCall>();
  let total = 0;
  let opened = 0;

  const forget = (call: OpenCall) => void calls.delete(call);

  function end(call: OpenCall, reason: RemoraError): void {
    if (!calls.delete(call)) return;
    onCut(call.target, reason);
    call.cut(reason);
  }

  /** A call that ends with the token of its caller. */
  function openUntil(until: AbortSignal, target: Target, isTunnel: boolean): OpenCall {
    const onEnd = () => end(call, until.reason);
    const call = new OpenCall(target, isTunnel, () => {
      forget(call);
      until.removeEventListener('abort', onEnd);
    });
    until.addEventListener('abort', onEnd);
    return call;
  }

  return {
    arrive() {
      total += 1;
    },
    open(target, isTunnel, until) {
      until?.throwIfAborted();
      const call = until === undefined ? new OpenCall(target, isTunnel, forget) : openUntil(until, target, isTunnel);
      opened += 1;
      call.number = opened;
      calls.add(call);
      return call;
    },
    endTunnels(reason) {
      for (const call of calls.all()) if (call.isTunnel) call.cut(reason);
    },
    endAll(reason) {
      for (const call of calls.all()) call.cut(reason);
    },
    list: () => calls.all().toSorted((one, other) => one.number - other.number),
    has: (call) => calls.has(call),
    end,
    get size() {
      return calls.size;
    },
    tally() {
      const open = new Map<string, number>();
      for (const { target } of calls.all()) {
        const owner = `${target.provider}/${target.connector_id}`;
        open.set(owner, (open.get(owner) ?? 0) + 1);
      }
      return { open, total };
    },
  };
}
