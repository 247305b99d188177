// What is due when, for many things of which few are due at once. Pure.

export interface DueTimes {
  /** Replaces an earlier time of the same thing. */
  set(id: string, due_ms: number): void;
  delete(id: string): void;
  /** Removes and returns what is due. */
  take(now_ms: number): string[];
  has(id: string): boolean;
}

export function createDueTimes(): DueTimes {
  const times = new Map<string, number>();
  return {
    set: (id, due_ms) => void times.set(id, due_ms),
    delete: (id) => void times.delete(id),
    take(now_ms) {
      const due: string[] = [];
      for (const [id, due_ms] of times) if (due_ms <= now_ms) due.push(id);
      for (const id of due) times.delete(id);
      return due;
    },
    has: (id) => times.has(id),
  };
}
