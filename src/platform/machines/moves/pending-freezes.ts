// Freezes that follow an accepted suspend after a delay.

export interface Freezes extends Disposable {
  schedule(id: string): void;
  /** Cancels the freeze of a machine. False when none is pending. */
  callOff(id: string): boolean;
}

/** `freeze` never rejects. */
export function createFreezes(delay_ms: number, freeze: (id: string) => Promise<void>): Freezes {
  const timers = new Map<string, NodeJS.Timeout>();
  function callOff(id: string): boolean {
    clearTimeout(timers.get(id));
    return timers.delete(id);
  }
  return {
    schedule(id) {
      callOff(id);
      timers.set(
        id,
        setTimeout(() => void freeze(id), delay_ms),
      );
    },
    callOff,
    [Symbol.dispose]() {
      for (const timer of timers.values()) clearTimeout(timer);
      timers.clear();
    },
  };
}
