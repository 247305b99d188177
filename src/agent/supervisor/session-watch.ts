// What this agent knows of the processes that callers run. The supervisor has them: it is asked only while its file says that some run, so
// that a machine without processes pays for one look at a file.
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { readText } from '../../client/read-answer.ts';
import { type RunningSession, sessionWorkOperations, sessionWorkResponse } from '../../contract/local/session-work.ts';
import { toErrorMessage } from '../../core/error-message.ts';
import type { SessionReading } from '../../core/idle/inside-work.ts';
import { SESSIONS_FILE } from '../../core/supervisor-wire.ts';
import type { ProcessLink } from '../process-link.ts';

const ASK_MS = 3_000;
const none: SessionReading = { type: 'seen', sessions: [] };

export interface SessionWatchOptions {
  readonly stateDir: string;
  /** Undefined where no processes can be run. */
  readonly link: () => Promise<ProcessLink | undefined>;
}

export class SessionWatch {
  readonly #options: SessionWatchOptions;
  readonly #path: string;
  #reading: SessionReading = none;
  #changed_ms: number | undefined;
  #changes = 0;
  #hasLooked = false;
  #looking: Promise<void> | undefined;

  constructor(options: SessionWatchOptions) {
    this.#options = options;
    this.#path = join(options.stateDir, SESSIONS_FILE);
  }

  /** What the last `look` found. */
  get reading(): SessionReading {
    return this.#reading;
  }

  /** Grows when a process has begun or ended since the last look. */
  get changes(): number {
    return this.#changes;
  }

  /** Never rejects. One look at a time, for all who ask. */
  look(): Promise<void> {
    this.#looking ??= this.#look().finally(() => {
      this.#looking = undefined;
    });
    return this.#looking;
  }

  async #look(): Promise<void> {
    try {
      const link = this.#mayRun() ? await this.#options.link() : undefined;
      this.#reading = link === undefined ? none : { type: 'seen', sessions: await ask(link) };
    } catch (error) {
      this.#reading = { type: 'failed', why: toErrorMessage(error) };
    }
  }

  /** Whether the file says that processes run. What changed before the first look is not known. */
  #mayRun(): boolean {
    const file = statSync(this.#path, { throwIfNoEntry: false });
    if (this.#hasLooked && this.#changed_ms !== file?.mtimeMs) this.#changes += 1;
    this.#hasLooked = true;
    this.#changed_ms = file?.mtimeMs;
    return file !== undefined && file.size > 0;
  }
}

async function ask(link: ProcessLink): Promise<readonly RunningSession[]> {
  const { method, path } = sessionWorkOperations.listRunningSessions;
  const { statusCode, body } = await link.ask(method, path, AbortSignal.timeout(ASK_MS));
  if (statusCode !== 200) throw new Error(`the supervisor answers ${statusCode}`);
  return sessionWorkResponse.parse(JSON.parse(await readText(body))).sessions;
}
