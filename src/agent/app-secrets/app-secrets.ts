// Keeps the secrets of the app current in the supervisor, which puts them into the environment of programs. They are fetched when the
// first program is to be started, and again when the platform says that something has changed and after a resume. They are in memory only.
import { rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { UpstreamError } from '../../client/upstream-error.ts';
import { type AppEnvironment, appEnvironmentOperations } from '../../contract/local/app-environment.ts';
import { createBackoff } from '../../core/backoff.ts';
import { toErrorMessage } from '../../core/error-message.ts';
import type { Log } from '../../core/log.ts';
import { APP_SECRETS_FILE, type AppSecretsNote } from '../../core/supervisor-wire.ts';
import { withDeadline } from '../../core/with-deadline.ts';
import { makeDirectory } from '../../linux/make-directory.ts';
import type { FetchedSecrets, SecretSource } from './secret-source.ts';

export interface AppSecretsOptions {
  readonly source: SecretSource;
  readonly stateDir: string;
  /** Changes with each resume: what was fetched before may not be this machine's any more. */
  readonly generation: () => number;
  /** Waits, bounded, while the machine is being suspended or resumed, and for the first report; throws the reason to wait longer. */
  readonly gate: () => Promise<void> | undefined;
  /** Which supervisor runs; undefined while none does, or while that cannot be seen. */
  readonly supervisor: () => string | undefined;
  /** Sends to the supervisor, which it starts, and resolves with the status. */
  readonly send: (method: 'PUT', path: string, body: string) => Promise<number>;
  /** A number in [0, 1), from urandom. */
  readonly random: () => number;
  readonly log: Log;
  /** Ends the retries. */
  readonly signal: AbortSignal;
}

export interface AppSecrets {
  /**
   * Call it before programs are started: waits, for a few seconds, until the supervisor has the secrets that the platform has. Never rejects: whether a
   * program is started without them is for the supervisor to say.
   */
  settle(): Promise<void>;
  /** Call it when they may have changed. Never waits. */
  changed(): void;
  /** Call it when a connection to the supervisor was made: it may be another one, which knows nothing. Never waits. */
  reconcile(): void;
}

interface Held {
  readonly fetched: FetchedSecrets;
  readonly generation: number;
}

/** How long a start waits for the platform. */
const WAIT_MS = 5_000;
/** How long it waits where those from before a resume are known. */
const REFRESH_WAIT_MS = 2_000;
const NOT_ANSWERED = 'the platform has not answered so far';

export class SuppliedSecrets implements AppSecrets {
  readonly #options: AppSecretsOptions;
  #held: Held | undefined;
  #problem = NOT_ANSWERED;
  /** The time since which the platform has not answered; undefined while it does. */
  #failing_ms: number | undefined;
  #nap = new AbortController();
  #isStale = false;
  #fetching: Promise<void> | undefined;
  #sending: Promise<void> | undefined;
  /** What was sent last, and to which supervisor. */
  #sent: { readonly to: string | undefined; readonly what: Held | undefined } | undefined;

  constructor(options: AppSecretsOptions) {
    this.#options = options;
  }

  /** Has a supervisor that starts from now on wait for them. */
  begin(): void {
    this.#note('unknown');
  }

  async settle(): Promise<void> {
    if (!this.#isCurrent()) await this.#wait();
    await this.#send();
  }

  changed(): void {
    this.#isStale = true;
    void this.#fetchAll().then(() => this.#sendIfRunning());
  }

  reconcile(): void {
    void this.#sendIfRunning();
  }

  #isCurrent(): boolean {
    return !this.#isStale && this.#held !== undefined && this.#held.generation === this.#options.generation();
  }

  async #wait(): Promise<void> {
    const limit_ms = this.#held === undefined ? WAIT_MS : REFRESH_WAIT_MS - this.#failingFor_ms();
    const done = this.#fetchAll();
    this.#nap.abort();
    if (limit_ms > 0) await withDeadline(limit_ms, done).catch(() => undefined);
  }

  #failingFor_ms(): number {
    return this.#failing_ms === undefined ? 0 : performance.now() - this.#failing_ms;
  }

  /** Resolves when what is held is current. One at a time, for all who ask; it goes on trying without them. */
  #fetchAll(): Promise<void> {
    this.#fetching ??= this.#fetchUntilDone().finally(() => {
      this.#fetching = undefined;
    });
    return this.#fetching;
  }

  async #fetchUntilDone(): Promise<void> {
    const { random, signal } = this.#options;
    const backoff = createBackoff({ random });
    while (!signal.aborted && !this.#isCurrent()) {
      const wait_ms = await this.#fetchOnce().then(
        () => 0,
        (error: unknown) => {
          this.#problem = toErrorMessage(error);
          this.#failing_ms ??= performance.now();
          return backoff.next(error instanceof UpstreamError ? error.retryAfter_ms : undefined);
        },
      );
      this.#nap = new AbortController();
      const awake = AbortSignal.any([signal, this.#nap.signal]);
      if (wait_ms > 0) await sleep(wait_ms, undefined, { signal: awake, ref: false }).catch(() => undefined);
      // Who waited may have given up, and the supervisor waits itself.
      else await this.#sendIfRunning();
    }
  }

  async #fetchOnce(): Promise<void> {
    const { gate, generation, source, signal, log } = this.#options;
    await gate();
    const asked = generation();
    this.#isStale = false;
    try {
      const fetched = await source.fetch(signal);
      if (fetched.type === 'none' && this.#held?.fetched.type === 'known' && this.#held.fetched.secrets.size > 0) {
        throw new Error(`the platform does not give them any more: ${fetched.reason}`);
      }
      if (fetched.type !== 'known' && this.#held?.fetched.type !== fetched.type) {
        log.warn({ reason: fetched.reason }, 'the platform gives this agent no secrets of its app');
      }
      this.#held = isEqual(this.#held?.fetched, fetched)
        ? { fetched: this.#held?.fetched ?? fetched, generation: asked }
        : { fetched, generation: asked };
      this.#failing_ms = undefined;
      this.#note(
        fetched.type === 'known' && fetched.secrets.size > 0
          ? 'some'
          : fetched.type === 'withheld'
            ? 'unknown'
            : 'none',
      );
    } catch (error) {
      this.#isStale = true;
      throw error;
    }
  }

  async #sendIfRunning(): Promise<void> {
    if (this.#options.supervisor() !== undefined) await this.#send();
  }

  /** One at a time; what has changed meanwhile is sent after it. */
  async #send(): Promise<void> {
    while (this.#sending !== undefined) await this.#sending;
    if (this.#isSent()) return;
    this.#sending = this.#sendOnce().finally(() => {
      this.#sending = undefined;
    });
    await this.#sending;
  }

  #isSent(): boolean {
    const to = this.#options.supervisor();
    return to !== undefined && this.#sent?.to === to && this.#sent.what?.fetched === this.#held?.fetched;
  }

  async #sendOnce(): Promise<void> {
    const { send, supervisor, log } = this.#options;
    const what = this.#held;
    const { method, path } = appEnvironmentOperations.setAppEnvironment;
    try {
      const status = await send(method, path, JSON.stringify(toUpdate(what?.fetched, this.#problem)));
      this.#sent = { to: supervisor(), what };
      if (status === 204) return;
      log.warn(
        { status },
        'the supervisor takes no secrets of the app; it may be of an earlier version, and must be restarted',
      );
    } catch (error) {
      log.warn({ reason: toErrorMessage(error) }, 'the secrets of the app cannot be sent to the supervisor');
    }
  }

  /** Tells the supervisor that it should wait for them; a file of an earlier agent is kept until the platform has answered. */
  #note(note: AppSecretsNote): void {
    const path = join(this.#options.stateDir, APP_SECRETS_FILE);
    try {
      makeDirectory(dirname(path), 0o700);
      writeFileSync(path, note, { mode: 0o600, flag: note === 'unknown' ? 'wx' : 'w' });
    } catch (error) {
      if (note !== 'unknown')
        this.#options.log.warn({ err: error }, 'the supervisor cannot see whether the app has secrets');
    }
  }
}

/** Where nothing gives secrets, the supervisor does not wait for any. */
export function forgetAppSecrets(stateDir: string): void {
  rmSync(join(stateDir, APP_SECRETS_FILE), { force: true });
}

function toUpdate(fetched: FetchedSecrets | undefined, problem: string): AppEnvironment {
  switch (fetched?.type) {
    case undefined:
      return { type: 'unknown', reason: problem };
    case 'none':
      return { type: 'known', secrets: [] };
    case 'withheld':
      return fetched;
    case 'known':
      return { type: 'known', secrets: [...fetched.secrets].map(([name, value]) => ({ name, value: value.reveal() })) };
    default:
      return fetched satisfies never;
  }
}

function isEqual(a: FetchedSecrets | undefined, b: FetchedSecrets): boolean {
  if (a?.type !== 'known' || b.type !== 'known') return a?.type === b.type;
  const isSame = ([name, value]: readonly [string, { reveal(): string }]) =>
    a.secrets.get(name)?.reveal() === value.reveal();
  return a.secrets.size === b.secrets.size && [...b.secrets].every(isSame);
}
