// So many at once, and the others in the order in which they came.

export interface Slots {
  run<T>(work: () => Promise<T>): Promise<T>;
  /** How many run or wait. */
  readonly size: number;
}

export function createSlots(most: number): Slots {
  const waiting: (() => void)[] = [];
  let running = 0;
  return {
    async run(work) {
      if (running >= most) await new Promise<void>((resolve) => waiting.push(resolve));
      else running += 1;
      try {
        return await work();
      } finally {
        // The place goes to the next one, and nobody can take it in between.
        const next = waiting.shift();
        if (next === undefined) running -= 1;
        else next();
      }
    },
    get size() {
      return running + waiting.length;
    },
  };
}
