// The secrets of the app, for the environment of the programs that are started here. They are in the memory of this process alone: the
// agent sends them, and a file says only whether it does.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { AppEnvironment as Update } from '../../contract/local/app-environment.ts';
import { RemoraError } from '../../core/remora-error.ts';
import { Secret } from '../../core/secret.ts';
import { APP_SECRETS_FILE, type AppSecretsNote, isAppSecretsNote } from '../../core/supervisor-wire.ts';

/** The variables by name. A map is never changed, so that one which a program was started with says what that program has. */
export type AppVariables = ReadonlyMap<string, Secret>;

export interface AppEnvironmentOptions {
  readonly stateDir: string;
  /** How long a start waits for the agent. */
  readonly wait_ms?: number;
}

type State =
  /** The agent has not said anything so far. */
  | { readonly type: 'awaited' }
  | { readonly type: 'unknown'; readonly reason: string }
  | { readonly type: 'known'; readonly variables: AppVariables }
  | { readonly type: 'withheld'; readonly reason: string };

const WAIT_MS = 5_000;
const NOTHING: AppVariables = new Map();
const NOT_SAID = 'the agent has not sent them so far';

export class AppEnvironment {
  readonly #path: string;
  readonly #wait_ms: number;
  readonly #listeners = new Set<() => void>();
  #state: State = { type: 'awaited' };
  #changed = Promise.withResolvers<void>();

  constructor({ stateDir, wait_ms = WAIT_MS }: AppEnvironmentOptions) {
    this.#path = join(stateDir, APP_SECRETS_FILE);
    this.#wait_ms = wait_ms;
  }

  /** What is known now; undefined while nothing is. */
  get variables(): AppVariables | undefined {
    return this.#state.type === 'known' ? this.#state.variables : undefined;
  }

  /** Calls `listener` when other secrets are known than before. */
  onChange(listener: () => void): void {
    this.#listeners.add(listener);
  }

  set(update: Update): void {
    const before = this.variables;
    // What was known before is better than nothing.
    if (update.type === 'unknown' && before !== undefined) return;
    this.#state = update.type === 'known' ? { type: 'known', variables: toVariables(update) } : update;
    this.#changed.resolve();
    this.#changed = Promise.withResolvers();
    const now = this.variables;
    if (now === undefined || (before !== undefined && !isStale(before, now))) return;
    for (const listener of this.#listeners) listener();
  }

  /**
   * The secrets for a program that is started now. Waits for an agent that sends them, for a few seconds. Throws `secrets_unavailable`, and
   * the reason of `signal` when that aborts first.
   */
  async ready(signal?: AbortSignal): Promise<AppVariables> {
    if (this.#state.type === 'awaited' && this.#readNote() === undefined) return NOTHING;
    const late = AbortSignal.timeout(this.#wait_ms);
    while (this.#state.type === 'awaited' && !late.aborted) {
      await untilEither(this.#changed.promise, signal === undefined ? late : AbortSignal.any([signal, late]));
      signal?.throwIfAborted();
    }
    return this.#judge();
  }

  #judge(): AppVariables {
    const state = this.#state;
    switch (state.type) {
      case 'known':
        return state.variables;
      case 'withheld':
        throw toRefusal(`this machine gets no secrets of its app: ${state.reason}`);
      case 'awaited':
      case 'unknown':
        if (this.#readNote() === 'none') return NOTHING;
        throw toRefusal(
          `the secrets of the app are not known, and programs may need them: ${state.type === 'unknown' ? state.reason : NOT_SAID}`,
        );
      default:
        return state satisfies never;
    }
  }

  /** Undefined where no agent sends secrets: one without a platform, or of an earlier version. */
  #readNote(): AppSecretsNote | undefined {
    try {
      const text = readFileSync(this.#path, 'utf8').trim();
      return isAppSecretsNote(text) ? text : 'unknown';
    } catch {
      return undefined;
    }
  }
}

function toVariables({ secrets }: Extract<Update, { type: 'known' }>): AppVariables {
  return new Map(secrets.map(({ name, value }) => [name, new Secret(value)]));
}

/** The variables as a program gets them. */
export function toPlain(variables: AppVariables): Readonly<Record<string, string>> {
  return Object.fromEntries([...variables].map(([name, value]) => [name, value.reveal()]));
}

/** Whether a program that sets `own` by itself would get other secrets now than those that it was started with. */
export function isStale(had: AppVariables, now: AppVariables, own: Readonly<Record<string, string>> = {}): boolean {
  if (had === now) return false;
  const names = new Set([...had.keys(), ...now.keys()].filter((name) => !Object.hasOwn(own, name)));
  return [...names].some((name) => had.get(name)?.reveal() !== now.get(name)?.reveal());
}

async function untilEither(first: Promise<void>, signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const onAbort = () => resolve();
  signal.addEventListener('abort', onAbort, { once: true });
  if (signal.aborted) resolve();
  await Promise.race([first, promise]);
  signal.removeEventListener('abort', onAbort);
}

function toRefusal(message: string): RemoraError {
  return new RemoraError('secrets_unavailable', message, { retryAfter_ms: 1_000 });
}
