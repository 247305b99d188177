// Starts where as many sprites of an organization run as may: each waits in turn for a place. Room is made only by suspending a sprite of the
// same organization that is idle by its agent's word, and never for a caller whom the organization does not know.
import type { MachineStatus } from '../../contract/machines.ts';
import type { Clock } from '../../core/clock.ts';
import { RemoraError } from '../../core/remora-error.ts';
import type { Changes } from '../changes.ts';
import type { MachineService } from '../machines/moves/machine-service.ts';
import type { StartedMachine } from '../machines/moves/machine-starts.ts';
import { holdsPlace, type MachineLimits } from '../machines/records/machine-limits.ts';
import type { MachineRow } from '../machines/records/machine-row.ts';
import type { MachineStore } from '../machines/records/machine-store.ts';
import type { MakeRoom } from './make-room.ts';

export interface StartCaller {
  /** The organization knows the caller: another sprite without work may be suspended for it. */
  readonly mayMakeRoom: boolean;
  /** Aborted when nobody waits any more. */
  readonly signal: AbortSignal;
  /** Waits at most this long, if that is shorter than the setting. */
  readonly most_ms?: number;
}

export interface StartQueue extends AsyncDisposable {
  /**
   * Does what `MachineService.start` does, and waits first while no place is free. Throws what that throws:
   * `concurrent_sprite_limit_exceeded` when no place was free in time, or too many wait; and the reason of the signal.
   */
  start(machine_id: string, caller: StartCaller): Promise<StartedMachine>;
  /**
   * The same for another move that ends with a start: it is tried again, as a whole, while it throws that no place is free. Once it is being
   * tried nothing but its own end counts.
   */
  place<T>(machine_id: string, caller: StartCaller, move: () => Promise<T>): Promise<T>;
  /** Whether a start of the machine waits for a place. */
  isAwaited(machine_id: string): boolean;
}

export interface StartQueueDeps {
  readonly machines: Pick<MachineStore, 'find'>;
  readonly limits: Pick<MachineLimits, 'freePlaces'>;
  readonly machineService: Pick<MachineService, 'start'>;
  readonly makeRoom: MakeRoom;
  readonly changes: Pick<Changes, 'subscribe'>;
  readonly clock: Pick<Clock, 'mono_ms'>;
  /** How long a start waits; 0: not at all. */
  readonly wait_ms: number;
}

interface Waiter extends StartCaller {
  readonly machine_id: string;
  readonly until_ms: number;
  /** Carries out the move, and answers the caller. */
  readonly move: () => Promise<void>;
  readonly reject: (error: unknown) => void;
  isTrying: boolean;
  /** The error of the last try. */
  refusal: RemoraError;
}

/** How many starts of an organization wait at most. */
const WAITERS_MAX = 512;
/** How often it is tried without a notice of a free place: other platform processes free some too, and sprites become idle. */
const TRY_MS = 500;
const GIVES_PLACE: readonly MachineStatus[] = ['suspended', 'stopped', 'failed', 'destroyed'];

export function createStartQueue(deps: StartQueueDeps): StartQueue {
  const { machines, machineService, limits, makeRoom, clock, wait_ms } = deps;
  const queues = new Map<string, Waiter[]>();
  const pumps = new Map<string, Promise<void>>();
  const stop = new AbortController();
  let timer: NodeJS.Timeout | undefined;

  function leave(organization_id: string, waiter: Waiter): void {
    const left = (queues.get(organization_id) ?? []).filter((each) => each !== waiter);
    if (left.length > 0) queues.set(organization_id, left);
    else queues.delete(organization_id);
    if (queues.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  }

  /** Starts as many as there are places, the first ones first, or makes room for one. */
  async function pumpOnce(organization_id: string): Promise<void> {
    const waiting = () => (queues.get(organization_id) ?? []).filter(({ isTrying }) => !isTrying);
    const free = await limits.freePlaces(organization_id);
    if (free > 0) for (const waiter of waiting().slice(0, free)) void attempt(waiter, clock.mono_ms);
    else {
      const first = waiting().find(({ mayMakeRoom }) => mayMakeRoom);
      if (first !== undefined) await makeRoom(organization_id, stop.signal);
    }
  }

  function pump(organization_id: string): void {
    if (pumps.has(organization_id) || stop.signal.aborted) return;
    const running = pumpOnce(organization_id)
      // It is tried again, and the waiters have their time.
      .catch(() => undefined)
      .finally(() => pumps.delete(organization_id));
    pumps.set(organization_id, running);
  }

  async function enter<T>(
    row: MachineRow,
    caller: StartCaller,
    move: () => Promise<T>,
    refusal: RemoraError,
  ): Promise<T> {
    stop.signal.throwIfAborted();
    const { id: machine_id, organization_id } = row;
    const queue = queues.get(organization_id) ?? [];
    const limit_ms = Math.min(wait_ms, caller.most_ms ?? wait_ms);
    if (queue.length >= WAITERS_MAX) throw refusal;
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    const waiter: Waiter = {
      ...caller,
      machine_id,
      refusal,
      isTrying: false,
      until_ms: clock.mono_ms() + limit_ms,
      move: async () => resolve(await move()),
      reject,
    };
    // One that is tried has its place, or is refused at once.
    const late = setTimeout(() => {
      if (!waiter.isTrying) reject(waiter.refusal);
    }, limit_ms);
    const onAbort = () => {
      if (!waiter.isTrying) reject(caller.signal.reason);
    };
    caller.signal.addEventListener('abort', onAbort, { once: true });
    if (caller.signal.aborted) onAbort();
    queues.set(organization_id, [...queue, waiter]);
    timer ??= setInterval(() => [...queues.keys()].forEach(pump), TRY_MS).unref();
    pump(organization_id);
    try {
      return await promise;
    } finally {
      clearTimeout(late);
      caller.signal.removeEventListener('abort', onAbort);
      leave(organization_id, waiter);
    }
  }

  /** It has its place, and those who wait for it need none. */
  function onRunning(id: string): void {
    for (const waiter of [...queues.values()].flat()) {
      if (waiter.machine_id === id && !waiter.isTrying) void attempt(waiter, clock.mono_ms);
    }
  }

  deps.changes.subscribe('machine_moved', ({ machine_id, state }) => {
    if (GIVES_PLACE.includes(state)) [...queues.keys()].forEach(pump);
    else if (state === 'running') onRunning(machine_id);
  });

  async function place<T>(machine_id: string, caller: StartCaller, move: () => Promise<T>): Promise<T> {
    if (wait_ms === 0) return await move();
    const row = await machines.find(machine_id);
    const [ahead] = queues.get(row?.organization_id ?? '') ?? [];
    if (row !== undefined && ahead !== undefined && !holdsPlace(row))
      return await enter(row, caller, move, ahead.refusal);
    try {
      return await move();
    } catch (error) {
      if (row === undefined || !isRunningLimit(error)) throw error;
      return await enter(row, caller, move, error);
    }
  }

  return {
    place,
    start: (machine_id, caller) => place(machine_id, caller, () => machineService.start(machine_id)),
    isAwaited: (machine_id) =>
      [...queues.values()].some((queue) => queue.some((each) => each.machine_id === machine_id)),
    async [Symbol.asyncDispose]() {
      const reason = new RemoraError('shutting_down', 'the platform is stopping', { retryAfter_ms: 1_000 });
      stop.abort(reason);
      clearInterval(timer);
      for (const waiter of [...queues.values()].flat()) waiter.reject(reason);
      await Promise.all(pumps.values());
    },
  };
}

/** Never rejects: what the move throws is for the caller. */
async function attempt(waiter: Waiter, now_ms: () => number): Promise<void> {
  waiter.isTrying = true;
  try {
    await waiter.move();
  } catch (error) {
    waiter.isTrying = false;
    if (!isRunningLimit(error)) return waiter.reject(error);
    waiter.refusal = error;
    if (waiter.signal.aborted) waiter.reject(waiter.signal.reason);
    else if (now_ms() >= waiter.until_ms) waiter.reject(error);
  }
}

function isRunningLimit(error: unknown): error is RemoraError {
  if (!(error instanceof RemoraError) || error.code !== 'concurrent_sprite_limit_exceeded') return false;
  return typeof error.details === 'object' && error.details !== null && 'running_limit' in error.details;
}
