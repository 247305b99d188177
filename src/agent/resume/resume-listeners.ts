// The listeners to one moment of a resume. One that throws is logged, and the next one is called.
import type { Log } from '../../core/log.ts';

export interface ResumeListeners {
  add(listener: () => void): void;
  /** Calls them in the order in which they were added. Never throws. */
  call(): void;
}

export function createResumeListeners(log: Pick<Log, 'error'>): ResumeListeners {
  const listeners: (() => void)[] = [];
  return {
    add(listener) {
      listeners.push(listener);
    },
    call() {
      for (const listener of listeners) {
        try {
          listener();
        } catch (error) {
          log.error({ err: error }, 'a listener to resumes failed; the others go on');
        }
      }
    },
  };
}
