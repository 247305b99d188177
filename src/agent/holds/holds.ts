// Holds in force: made and renewed over the socket, stored on disk, ended by time, by their process or by their connection.
import type { Task } from '../../contract/local/tasks.ts';
import type { Clock } from '../../core/clock.ts';
import {
  createHoldBook,
  HOLDS_MAX,
  type Hold,
  type HoldProcess,
  type HoldRequest,
  type HoldTime,
  type ReleaseReason,
} from '../../core/holds/hold-book.ts';
import type { Log } from '../../core/log.ts';
import { RemoraError } from '../../core/remora-error.ts';
import type { RunClock } from '../../core/run-clock.ts';
import { readBootId } from '../../linux/boot-id.ts';
import { readProcessStart } from '../../linux/processes/process-start.ts';
import type { Sqlite } from '../../sqlite/open.ts';
import type { EventHub } from '../events/event-hub.ts';
import type { RestartHold } from '../restart/restart-state.ts';
import { toHold, toRestartHold } from './hold-restart-state.ts';
import { createHoldStore } from './hold-store.ts';
import { toTask } from './to-task.ts';

/** How often holds are checked, so that one whose process died ends within a second. */
const SWEEP_MS = 400;
/** When to try again after there were too many holds: some may have ended by then. */
const FULL_RETRY_MS = 1_000;

export interface HoldsOptions {
  readonly clock: Clock;
  readonly runClock: RunClock;
  readonly hub: EventHub;
  readonly db: Sqlite;
  readonly log: Log;
  /** Looks for a resume now, so that a sweep that is late because of one does not count the time of the suspend. */
  readonly check: () => void;
  readonly procRoot?: string;
}

export interface Holds extends Disposable {
  /**
   * Restores the holds from before a restart of the agent, from disk or from `handed` by the former process, and begins
   * to look for holds that end.
   */
  start(handed?: readonly RestartHold[]): void;
  list(): Task[];
  get(name: string): Task | undefined;
  /** Throws `invalid_request` for a pid that does not run, `too_many_requests` when there are too many. */
  put(request: Omit<HoldRequest, 'process'> & { readonly pid: number | undefined }): Task;
  release(name: string, why: ReleaseReason): Task | undefined;
  /** Removes the holds that have ended and returns the others. */
  inForce(): readonly Hold[];
  onResumed(): void;
  /** True when a connection may take this name: no hold has it, or its connection ended with the former image. */
  isFree(name: string): boolean;
  /** Lets later ends of connections release no hold, because connections end with this image of the process. */
  keepConnections(): void;
  /** Every hold, for the next image. */
  toRestartState(): RestartHold[];
}

export function createHolds(options: HoldsOptions): Holds {
  const { clock, runClock, hub, log } = options;
  const procRoot = options.procRoot ?? '/proc';
  const book = createHoldBook();
  const store = createHoldStore(options.db, readBootId(procRoot) ?? 'unknown');
  let timer: NodeJS.Timeout | undefined;
  let keepsConnections = false;

  const now = (): HoldTime => ({ run_ms: runClock.now_ms(), wall_ms: clock.wall_ms() });
  const isRunning = ({ pid, started }: HoldProcess) => readProcessStart(procRoot, pid) === started;

  /** A hold counts even when it could not be stored: a full disk must not let the machine be suspended. */
  function onDisk(name: string, write: () => void): void {
    try {
      write();
    } catch (error) {
      log.warn({ err: error, hold: name }, 'a hold is in force and not on disk; a restart of the agent would lose it');
    }
  }

  /** Also stores the wall times at which the holds end a second time, because the clock may have been set since they were stored. */
  function restoreHolds(handed: readonly RestartHold[]): void {
    book.restore(handed.map((hold) => toHold(hold, now())));
    book.resume(now());
    for (const hold of book.all()) if (!hold.connection) onDisk(hold.name, () => store.save(hold, now()));
  }

  function sweep(): void {
    options.check();
    for (const { hold, why } of book.sweep(now(), isRunning)) ended(hold, why);
    if (book.all().length === 0) stop();
  }

  function ended(hold: Hold, why: ReleaseReason): void {
    onDisk(hold.name, () => store.remove(hold.name));
    hub.publish('hold_released', { name: hold.name, reason: why });
  }

  function run(): void {
    timer ??= setInterval(sweep, SWEEP_MS).unref();
  }

  function stop(): void {
    clearInterval(timer);
    timer = undefined;
  }

  function toProcess(pid: number | undefined): HoldProcess | undefined {
    if (pid === undefined) return undefined;
    const started = readProcessStart(procRoot, pid);
    if (started !== undefined) return { pid, started };
    const details = { fields: [{ field: 'body.pid' }] };
    throw new RemoraError('invalid_request', `body.pid: no process ${pid} is running`, { details });
  }

  return {
    start(handed) {
      if (handed === undefined) onDisk('all', () => book.restore(store.load(now())));
      else restoreHolds(handed);
      if (book.all().length > 0) run();
    },
    list: () => book.all().map((hold) => toTask(hold, now())),
    get(name) {
      const hold = book.get(name);
      return hold === undefined ? undefined : toTask(hold, now());
    },
    put({ pid, ...request }) {
      const fresh = book.get(request.name) === undefined;
      const result = book.put({ ...request, process: toProcess(pid) }, now());
      if (result.type === 'full') {
        throw new RemoraError('too_many_requests', `there are already ${HOLDS_MAX} holds; let go of some`, {
          retryAfter_ms: FULL_RETRY_MS,
        });
      }
      const { hold } = result;
      if (!hold.connection) onDisk(hold.name, () => store.save(hold, now()));
      if (fresh) hub.publish('hold_created', { name: hold.name, mode: hold.mode });
      run();
      return toTask(hold, now());
    },
    release(name, why) {
      if (keepsConnections && why === 'connection_closed') return undefined;
      const hold = book.remove(name);
      if (hold === undefined) return undefined;
      ended(hold, why);
      return toTask(hold, now());
    },
    inForce() {
      sweep();
      return book.all();
    },
    onResumed() {
      book.resume(now());
    },
    isFree(name) {
      const hold = book.get(name);
      return hold === undefined || (hold.connection && Number.isFinite(hold.deadline_run_ms));
    },
    keepConnections() {
      keepsConnections = true;
    },
    toRestartState: () => book.all().map((hold) => toRestartHold(hold, now())),
    [Symbol.dispose]: stop,
  };
}
