// What the log has of attempts to open a channel that failed: each kind once since a channel was last good, because they are repeated for as
// long as the platform is away.
import { toErrorMessage } from '../../core/error-message.ts';
import type { Log } from '../../core/log.ts';
import { ChannelRefused } from './channel-refused.ts';

export interface Failure {
  readonly reason: string;
  /** Nothing more is asked until a resume or a restart. */
  readonly isLast: boolean;
  readonly retryAfter_ms: number | undefined;
}

export class FailureLog {
  readonly #log: Pick<Log, 'warn'>;
  readonly #told = new Set<number | undefined>();

  constructor(log: Pick<Log, 'warn'>) {
    this.#log = log;
  }

  note(error: unknown): Failure {
    const reason = toErrorMessage(error);
    const { status, retryAfter_ms, isFinal: isLast } = error instanceof ChannelRefused ? error : NO_ANSWER;
    if (isLast) {
      this.#log.warn({ reason }, 'the platform gives this agent no channel; only a resume or a restart asks again');
    } else if (!this.#told.has(status)) {
      this.#log.warn({ reason }, 'no channel to the platform can be opened; it is dialled again');
    }
    this.#told.add(status);
    return { reason, isLast, retryAfter_ms };
  }

  forget(): void {
    this.#told.clear();
  }
}

const NO_ANSWER = { status: undefined, retryAfter_ms: undefined, isFinal: false };
