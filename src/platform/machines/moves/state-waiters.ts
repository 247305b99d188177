// Callers that wait for a machine to reach a state. Each is answered once: when the state comes, when its time is over, or when the
// state can no longer come.
import type { MachineStatus } from '../../../contract/machines.ts';
import { RemoraError } from '../../../core/remora-error.ts';

export interface WaitFor {
  readonly state: MachineStatus;
  /** The instance that must reach the state; another one does not count. Undefined: any. */
  readonly instance_id: string | undefined;
  readonly timeout_ms: number;
  /** Aborted when the caller goes away. */
  readonly signal: AbortSignal;
}

export interface Situation {
  readonly state: MachineStatus;
  readonly instance_id: string;
}

export interface Waiters {
  /** `look` reads the recorded machine. Throws what `look` throws, `timeout`, `invalid_state` when the state can no longer come, and
   * `too_many_requests` over the cap. */
  wait(id: string, look: () => Promise<Situation>, wanted: WaitFor): Promise<void>;
  /** Call it after the machine has moved. */
  settle(id: string, now: Situation): void;
  /** Call it when the machine failed to start: it is not started again by itself, so it reaches no state but `stopped`. */
  fail(id: string, reason: RemoraError): void;
  /** Call it when the machine could not be suspended: it runs on, and nothing tries again by itself. */
  failSuspend(id: string, reason: string): void;
  /** Answers the waiters of the machine, or of all, with `error`: it will not move any more. */
  end(id: string | undefined, error: RemoraError): void;
}

const CAP_PER_MACHINE = 256;

interface Waiter {
  readonly wanted: WaitFor;
  readonly done: (error?: unknown) => void;
}

export function createWaiters(): Waiters {
  const waiting = new Map<string, Set<Waiter>>();

  function add(id: string, waiter: Waiter): void {
    const set = waiting.get(id) ?? new Set();
    if (set.size >= CAP_PER_MACHINE) {
      throw new RemoraError('too_many_requests', `${CAP_PER_MACHINE} callers wait for this machine already`, {
        retryAfter_ms: 1_000,
      });
    }
    waiting.set(id, set.add(waiter));
  }

  function remove(id: string, waiter: Waiter): void {
    const set = waiting.get(id);
    set?.delete(waiter);
    if (set?.size === 0) waiting.delete(id);
  }

  return {
    async wait(id, look, wanted) {
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      const waiter: Waiter = {
        wanted,
        done(error) {
          clearTimeout(timer);
          wanted.signal.removeEventListener('abort', onAbort);
          remove(id, waiter);
          if (error === undefined) resolve();
          else reject(error);
        },
      };
      const onAbort = () => waiter.done(new RemoraError('timeout', 'the caller went away'));
      add(id, waiter);
      const timer = setTimeout(() => waiter.done(timedOut(wanted)), wanted.timeout_ms);
      wanted.signal.addEventListener('abort', onAbort);
      if (wanted.signal.aborted) onAbort();
      // The record is read after the waiter is registered, so that no move is missed.
      await Promise.all([promise, look().then((now) => judge(waiter, now), waiter.done)]);
    },
    settle(id, now) {
      for (const waiter of [...(waiting.get(id) ?? [])]) judge(waiter, now);
    },
    fail(id, reason) {
      const error = new RemoraError('invalid_state', `the state can no longer come: ${reason.message}`, {
        details: reason.details,
      });
      for (const waiter of [...(waiting.get(id) ?? [])]) if (waiter.wanted.state !== 'stopped') waiter.done(error);
    },
    failSuspend(id, reason) {
      const error = new RemoraError('invalid_state', `the machine could not be suspended, and runs on: ${reason}`);
      for (const waiter of [...(waiting.get(id) ?? [])]) if (waiter.wanted.state === 'suspended') waiter.done(error);
    },
    end(id, error) {
      const sets = id === undefined ? [...waiting.values()] : [waiting.get(id) ?? new Set<Waiter>()];
      for (const waiter of sets.flatMap((set) => [...set])) waiter.done(error);
    },
  };
}

function judge(waiter: Waiter, now: Situation): void {
  const verdict = judgeWait(now, waiter.wanted);
  if (verdict === 'satisfied') waiter.done();
  else if (verdict === 'lost') waiter.done(lost(now));
}

/** `lost`: the instance that is named has ended or never was, or the machine has failed or is gone and comes to no other state by itself. */
export function judgeWait(
  now: Situation,
  wanted: Pick<WaitFor, 'state' | 'instance_id'>,
): 'satisfied' | 'waiting' | 'lost' {
  if (wanted.instance_id !== undefined && wanted.instance_id !== now.instance_id) return 'lost';
  if (now.state === wanted.state) return 'satisfied';
  if (now.state === 'failed' || now.state === 'destroyed') return 'lost';
  return wanted.instance_id !== undefined && now.state === 'stopped' ? 'lost' : 'waiting';
}

function lost(now: Situation): RemoraError {
  const what =
    now.state === 'failed' ? 'the machine has failed; start it again' : 'that instance of the machine is over';
  return new RemoraError('invalid_state', `${what}, the state can no longer come`, {
    details: { state: now.state, instance_id: now.instance_id },
  });
}

function timedOut(wanted: WaitFor): RemoraError {
  return new RemoraError('timeout', `the machine was not ${wanted.state} within ${wanted.timeout_ms / 1_000} s`);
}
