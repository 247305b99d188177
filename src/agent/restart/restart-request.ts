// The wish of a part that this process ends and is started again. The main loop fulfils it, or says why that cannot be.
import type { RestartCause } from './restart-cause.ts';

export interface RestartRequest {
  /** Why nobody would start this process again; undefined when somebody would. */
  whyNot(): string | undefined;
  /** Never resolves: the process ends. Rejects with the reason when it cannot be ended for a restart. */
  begin(why: RestartCause): Promise<never>;
  /** Rejects what has begun. */
  refuse(reason: string): void;
}

const NOBODY =
  'nobody is known to start it again when it ends; run it under systemd with the unit of this release, or set started_again';

export interface RestartRequestOptions {
  /** Whether something starts the process again. */
  readonly isStartedAgain: boolean;
  /** Undefined when the agent is part of another process. */
  readonly onRestart: ((why: RestartCause) => void) | undefined;
}

export function createRestartRequest({ isStartedAgain, onRestart }: RestartRequestOptions): RestartRequest {
  let begun = Promise.withResolvers<never>();
  // A refusal that no caller waits for is the state of a part and nothing else.
  begun.promise.catch(() => undefined);
  return {
    whyNot() {
      if (onRestart === undefined) return 'it is part of another process';
      return isStartedAgain ? undefined : NOBODY;
    },
    begin(why) {
      const { promise } = begun;
      onRestart?.(why);
      return promise;
    },
    refuse(reason) {
      begun.reject(new Error(reason));
      begun = Promise.withResolvers<never>();
      begun.promise.catch(() => undefined);
    },
  };
}
