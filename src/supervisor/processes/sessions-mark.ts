// The file by which the agent knows whether there is any process to ask about. Each begin and end changes its time.
import { writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Log } from '../../core/log.ts';
import { SESSIONS_FILE } from '../../core/supervisor-wire.ts';
import { makeDirectory } from '../../linux/make-directory.ts';

export class SessionsMark {
  readonly #path: string;
  readonly #log: Log;

  constructor(stateDir: string, log: Log) {
    this.#path = join(stateDir, SESSIONS_FILE);
    this.#log = log;
  }

  /** A file that cannot be written costs nobody a process: the machine may be suspended with it. */
  set(isRunning: boolean): void {
    try {
      makeDirectory(dirname(this.#path), 0o700);
      writeFileSync(this.#path, isRunning ? `${process.pid}\n` : '', { mode: 0o600 });
    } catch (err) {
      this.#log.warn({ err }, 'the agent cannot see that processes run');
    }
  }
}
