// Runs the process that serves files as the user: started at the first use, started again when it has ended, ended when nothing used it for
// a while.
import { type ChildProcess, fork } from 'node:child_process';
import { rmSync } from 'node:fs';
import type { Log } from '../../../core/log.ts';
import { NODE_FLAGS } from '../../../core/node-flags.ts';
import { RemoraError } from '../../../core/remora-error.ts';
import { toCompileCacheVariable } from '../../../linux/compile-cache.ts';
import type { UserProcessMessage, UserProcessOptions } from './user-process-message.ts';

/** An emulated processor that has other work takes most of it. */
const START_MS = 60_000;

export interface UserProcessSettings extends UserProcessOptions {
  /** How long it stays without a use. */
  readonly idle_ms: number;
  readonly log: Pick<Log, 'warn' | 'error'>;
}

interface Running {
  readonly child: ChildProcess;
  /** Rejects when it does not come to serve. */
  readonly ready: Promise<void>;
}

export class UserProcess implements AsyncDisposable {
  readonly #settings: UserProcessSettings;
  #running: Running | undefined;
  #uses = 0;
  #idle: NodeJS.Timeout | undefined;
  /** Resolves when the last one that was started has ended: its socket is not in the way of the next one then. */
  #ended: Promise<unknown> = Promise.resolve();

  constructor(settings: UserProcessSettings) {
    this.#settings = settings;
  }

  /** Undefined while it does not run. */
  get pid(): number | undefined {
    return this.#running?.child.pid;
  }

  get isBusy(): boolean {
    return this.#uses > 0;
  }

  /** Keeps it running until `work` is over. Throws `not_ready` when it cannot be started. */
  async use<T>(work: (socket: string) => Promise<T>): Promise<T> {
    clearTimeout(this.#idle);
    this.#uses += 1;
    try {
      if (this.#running === undefined) await this.#ended;
      this.#running ??= this.#start();
      await this.#running.ready;
      return await work(this.#settings.socket);
    } finally {
      this.#uses -= 1;
      if (this.#uses === 0) this.#rest();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearTimeout(this.#idle);
    await this.#stop();
    rmSync(this.#settings.socket, { force: true });
  }

  #rest(): void {
    this.#idle = setTimeout(() => {
      this.#stop().catch((error: unknown) => this.#settings.log.error({ err: error }, 'the file process did not end'));
    }, this.#settings.idle_ms);
    this.#idle.unref();
  }

  async #stop(): Promise<void> {
    const child = this.#running?.child;
    this.#running = undefined;
    if (child === undefined) return;
    // It may be stopped by its user, who has the same rights over it as it has itself.
    child.ref();
    child.kill('SIGKILL');
    await this.#ended;
  }

  #start(): Running {
    const { socket, user, log } = this.#settings;
    const options: UserProcessOptions = { socket, user: { name: user.name, uid: user.uid, gid: user.gid } };
    const child = fork(new URL('./main.ts', import.meta.url), [JSON.stringify(options)], {
      execArgv: [...NODE_FLAGS],
      // Nothing of the supervisor's environment is the user's.
      env: { ...toCompileCacheVariable() },
      cwd: '/',
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    });
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const refuse = (why: string) =>
      reject(new RemoraError('not_ready', `the process for the files of ${user.name} does not run: ${why}`));
    const late = setTimeout(() => {
      refuse('it did not start in time');
      child.kill('SIGKILL');
    }, START_MS);
    const ended = Promise.withResolvers<void>();
    const onEnd = (why: string) => {
      clearTimeout(late);
      refuse(why);
      if (this.#running === running) this.#running = undefined;
      ended.resolve();
    };
    child.on('message', (message: UserProcessMessage) => {
      if (message.type === 'log') log.warn({}, `files: ${message.message}`);
      else if (message.type === 'failed') refuse(message.message);
      else resolve();
      if (message.type === 'ready') clearTimeout(late);
    });
    child.once('exit', (code, signal) => onEnd(`it ended with ${signal ?? code}`));
    child.once('error', (error) => onEnd(error.message));
    child.unref();
    child.channel?.unref();
    const running: Running = { child, ready: promise };
    promise.catch(() => undefined);
    this.#ended = ended.promise;
    return running;
  }
}
