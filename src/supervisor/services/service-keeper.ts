// Keeps one service as it is wanted: starts it once what it needs runs, starts it again after a crash, and stops it. The table of states
// decides; this file does what each new state asks for.
import type { ServiceRequest, ServiceState, ServiceStatus } from '../../contract/services.ts';
import { toDateTime } from '../../core/clock.ts';
import { toErrorMessage } from '../../core/error-message.ts';
import type { LogFile } from './log-file.ts';
import { toLogBytes } from './log-line.ts';
import { untilProved } from './prove-running.ts';
import { Restarts } from './restarts.ts';
import { ServiceHub } from './service-hub.ts';
import type { OutputTarget } from './service-output.ts';
import type { ServiceProcess } from './service-process.ts';
import { type ServiceMove, serviceStates } from './service-states.ts';
import type { ServiceTiming } from './service-timing.ts';

export interface KeeperOptions {
  readonly name: string;
  readonly request: ServiceRequest;
  readonly log: LogFile;
  readonly timing: ServiceTiming;
  readonly wall_ms: () => number;
  /** Resolves when all that is needed runs. Rejects with a message for people when that takes too long. */
  untilNeedsRun(request: ServiceRequest, signal: AbortSignal): Promise<void>;
  /** Whether the secrets of the app are others now than when its process was started. */
  isStale(request: ServiceRequest): boolean;
  /** Rejects with a message for people. */
  start(request: ServiceRequest, target: OutputTarget): Promise<ServiceProcess>;
  /** Ends what an earlier supervisor has left of it; undefined when there is nothing. */
  readonly endLeft?: ((grace_ms: number) => Promise<void>) | undefined;
}

export class ServiceKeeper {
  readonly hub = new ServiceHub();
  readonly #options: KeeperOptions;
  readonly #restarts: Restarts;
  readonly #watchers = new Set<() => void>();
  #request: ServiceRequest;
  #status: ServiceStatus = 'stopped';
  #isWanted = false;
  #isRetired = false;
  #grace_ms: number;
  #process: ServiceProcess | undefined;
  /** Set from the begin of a start until no process of it is left. */
  #attempt: AbortController | undefined;
  #started_ms: number | undefined;
  #exit_code = 0;
  #error: string | undefined;

  constructor(options: KeeperOptions) {
    this.#options = options;
    this.#request = options.request;
    this.#grace_ms = options.timing.stop_ms;
    this.#restarts = new Restarts(options.timing.steady_ms);
    if (options.endLeft !== undefined) this.#recover(options.endLeft);
  }

  get name(): string {
    return this.#options.name;
  }

  get log(): LogFile {
    return this.#options.log;
  }

  get request(): ServiceRequest {
    return this.#request;
  }

  get status(): ServiceStatus {
    return this.#status;
  }

  /** Starts it unless it runs; one that waits after a crash is started at once. */
  start(): void {
    if (this.#isRetired) return;
    this.#isWanted = true;
    this.#restarts.forget();
    this.#move('start');
  }

  /** Stops it; it is killed after `grace_ms`. */
  stop(grace_ms: number): void {
    this.#isWanted = false;
    this.#end(grace_ms);
  }

  /** Stops it for good: a start that is asked for at the same time does nothing. */
  retire(grace_ms: number): void {
    this.#isRetired = true;
    this.stop(grace_ms);
  }

  /** Stops it if anything of it runs, and starts it, by a new definition where one is given. */
  restart(request = this.#request): void {
    if (this.#isRetired) return;
    this.#request = request;
    this.#isWanted = true;
    this.#restarts.forget();
    if (this.#status === 'stopped' || this.#status === 'failed') this.#move('start');
    else this.#end(this.#options.timing.stop_ms);
  }

  /** Starts it again where its definition says so, and at once where it has failed: it may have needed what is there now. */
  onEnvironmentChange(): void {
    if (this.#status === 'failed') this.start();
    else if (this.#request.restart_on_environment_change === true && this.#isStale) this.restart();
  }

  get #isStale(): boolean {
    return this.#process !== undefined && this.#options.isStale(this.#request);
  }

  /** False when there is no process: one that is about to be started is waited for. */
  async signal(name: NodeJS.Signals): Promise<boolean> {
    const isThere = () => this.#process !== undefined || this.#status !== 'starting';
    await this.until(isThere, AbortSignal.timeout(this.#options.timing.signal_ms)).catch(() => undefined);
    return this.#process?.signal(name) ?? false;
  }

  /** Resolves when `isSo` holds for the state. Rejects when `signal` aborts first. */
  async until(isSo: (status: ServiceStatus) => boolean, signal: AbortSignal | undefined = undefined): Promise<void> {
    while (!isSo(this.#status)) {
      signal?.throwIfAborted();
      await new Promise<void>((resolve) => {
        const watcher = () => {
          this.#watchers.delete(watcher);
          signal?.removeEventListener('abort', watcher);
          resolve();
        };
        this.#watchers.add(watcher);
        signal?.addEventListener('abort', watcher);
      });
    }
  }

  state(): ServiceState {
    const next_ms = this.#restarts.next_ms;
    return {
      name: this.name,
      status: this.#status,
      ...(this.#process === undefined ? {} : { pid: this.#process.pid }),
      ...(this.#started_ms === undefined ? {} : { started_at: toDateTime(this.#started_ms) }),
      ...(this.#status === 'failed' && this.#error !== undefined ? { error: this.#error } : {}),
      ...(this.#isStale ? { stale_environment: true as const } : {}),
      restart_count: this.#restarts.count,
      ...(this.#status === 'failed' && next_ms !== undefined ? { next_restart_at: toDateTime(next_ms) } : {}),
    };
  }

  #end(grace_ms: number): void {
    this.#grace_ms = grace_ms;
    if (this.#status === 'stopping') this.#process?.end(grace_ms);
    else this.#move('stop');
  }

  #move(move: ServiceMove): void {
    const next = serviceStates[this.#status][move];
    if (next === this.#status) return;
    this.#status = next;
    this.#enter(next);
    this.#tellWatchers();
  }

  #tellWatchers(): void {
    for (const watcher of [...this.#watchers]) watcher();
  }

  #enter(status: ServiceStatus): void {
    const { wall_ms } = this.#options;
    switch (status) {
      case 'starting':
        this.#restarts.cancel();
        void this.#run();
        return;
      case 'running':
        this.#restarts.onRunning();
        return;
      case 'stopping':
        this.#restarts.cancel();
        this.hub.publish({ type: 'stopping', timestamp: wall_ms() });
        this.#attempt?.abort();
        if (this.#attempt === undefined) this.#move('ended');
        else this.#process?.end(this.#grace_ms);
        return;
      case 'stopped':
        this.hub.publish({ type: 'stopped', exit_code: this.#exit_code, timestamp: wall_ms() });
        if (this.#isWanted) this.#move('start');
        return;
      case 'failed':
        this.#restarts.onFailed(wall_ms(), () => this.#move('start'));
        return;
      default:
        status satisfies never;
    }
  }

  /** Runs one process, from its start to its end. */
  async #run(): Promise<void> {
    const { untilNeedsRun, start, timing, log, wall_ms } = this.#options;
    const attempt = new AbortController();
    const request = this.#request;
    this.#attempt = attempt;
    this.#error = undefined;
    this.#exit_code = 0;
    try {
      await untilNeedsRun(request, attempt.signal);
      this.#process = await start(request, { log, hub: this.hub, wall_ms });
    } catch (error) {
      if (!attempt.signal.aborted) this.#fail(toErrorMessage(error));
      this.#attempt = undefined;
      this.#move('not_started');
      return;
    }
    this.#started_ms = wall_ms();
    this.#tellWatchers();
    // It may have been stopped while its process was made.
    if (attempt.signal.aborted) this.#process.end(this.#grace_ms);
    else this.hub.publish({ type: 'started', timestamp: this.#started_ms });
    // They may have changed while its process was made.
    this.onEnvironmentChange();
    const onProved = () => this.#move('proved');
    untilProved(request.http_port, timing.proved_ms, attempt.signal).then(onProved, () => undefined);
    this.#exit_code = await this.#process.done;
    const isOutOfMemory = this.#process.wasOutOfMemory();
    attempt.abort();
    this.#process = undefined;
    this.#attempt = undefined;
    if (this.#status !== 'stopping') {
      this.#error = toExitText(this.#exit_code, isOutOfMemory);
      this.hub.publish({ type: 'exit', exit_code: this.#exit_code, timestamp: wall_ms() });
    }
    this.#started_ms = undefined;
    this.#move('ended');
  }

  #fail(message: string): void {
    const timestamp = this.#options.wall_ms();
    this.#error = message;
    this.log.append(toLogBytes('error', [{ bytes: Buffer.from(message), goesOn: false }], timestamp), 1);
    this.hub.publish({ type: 'error', data: message, timestamp });
  }

  #recover(endLeft: (grace_ms: number) => Promise<void>): void {
    this.#status = 'stopping';
    this.#attempt = new AbortController();
    const onEnded = () => {
      this.#attempt = undefined;
      this.#move('ended');
    };
    endLeft(this.#grace_ms).then(onEnded, onEnded);
  }
}

const SIGNALLED = 128;

function toExitText(code: number, isOutOfMemory: boolean): string {
  const text = code > SIGNALLED ? `it was ended by signal ${code - SIGNALLED}` : `it ended with exit code ${code}`;
  return isOutOfMemory ? `${text}, after the kernel had ended a process of it for want of memory` : text;
}
