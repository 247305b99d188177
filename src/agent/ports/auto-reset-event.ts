// An auto-reset event for one waiting loop: a ring while it does not wait is kept for the next wait.

export interface AutoResetEvent {
  set(): void;
  /** Resolves at the next ring, at once when it rang since the last wait, or after `limit_ms` when that is given. */
  wait(limit_ms?: number): Promise<void>;
}

export function createAutoResetEvent(): AutoResetEvent {
  let isSet = false;
  let resolveWait: (() => void) | undefined;
  return {
    set() {
      isSet = true;
      resolveWait?.();
    },
    async wait(limit_ms) {
      let timer: NodeJS.Timeout | undefined;
      if (!isSet) {
        await new Promise<void>((resolve) => {
          resolveWait = resolve;
          if (limit_ms !== undefined) timer = setTimeout(resolve, limit_ms);
        });
      }
      clearTimeout(timer);
      resolveWait = undefined;
      isSet = false;
    },
  };
}
