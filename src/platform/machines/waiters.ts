// Callers that wait for a machine to reach a state. Each is answered once: by the state, by its limit, or because the state can
// no longer come.
import type { MachineStatus } from '../../contract/machines.ts';
import { RemoraError } from '../../core/remora-error.ts';

export interface WaitFor {
  readonly state: MachineStatus;
  /** The life that is meant; another one does not satisfy the waiter. Absent: any. */
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
  /** `look`: the machine as it is recorded. Throws what that throws, `timeout`, `invalid_state` when the state can no longer come, `too_many_requests` over the cap. */
  wait(id: string, look: () => Promise<Situation>, wanted: WaitFor): Promise<void>;
  /** The machine has moved. */
  tell(id: string, now: Situation): void;
  /** The machine, or all of them, will not move any more. */
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
      // Looked at when the waiter is in its place, so that no move is missed.
      await Promise.all([promise, look().then((now) => judge(waiter, now), waiter.done)]);
    },
    tell(id, now) {
      for (const waiter of [...(waiting.get(id) ?? [])]) judge(waiter, now);
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

/** `lost`: the life that is meant is over, or was never. */
export function judgeWait(
  now: Situation,
  wanted: Pick<WaitFor, 'state' | 'instance_id'>,
): 'satisfied' | 'waiting' | 'lost' {
  if (wanted.instance_id !== undefined && wanted.instance_id !== now.instance_id) return 'lost';
  if (now.state === wanted.state) return 'satisfied';
  return wanted.instance_id !== undefined && now.state === 'stopped' ? 'lost' : 'waiting';
}

function lost(now: Situation): RemoraError {
  return new RemoraError('invalid_state', 'that life of the machine is over, the state can no longer come', {
    details: { state: now.state, instance_id: now.instance_id },
  });
}

function timedOut(wanted: WaitFor): RemoraError {
  return new RemoraError('timeout', `the machine was not ${wanted.state} within ${wanted.timeout_ms / 1_000} s`);
}
