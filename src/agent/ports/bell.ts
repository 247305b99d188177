// Wakes one waiting loop. A ring while nobody waits is kept for the next wait.

export interface Bell {
  ring(): void;
  /** Resolves at the next ring, at once when it rang since the last wait, and after `limit_ms` when that is given. */
  wait(limit_ms?: number): Promise<void>;
}

export function createBell(): Bell {
  let rung = false;
  let wake: (() => void) | undefined;
  return {
    ring() {
      rung = true;
      wake?.();
    },
    async wait(limit_ms) {
      let timer: NodeJS.Timeout | undefined;
      if (!rung) {
        await new Promise<void>((resolve) => {
          wake = resolve;
          if (limit_ms !== undefined) timer = setTimeout(resolve, limit_ms);
        });
      }
      clearTimeout(timer);
      wake = undefined;
      rung = false;
    },
  };
}
