// One step at a time for each name: a step begins when the ones before it are over, however they ended.

export interface Turns {
  take<T>(id: string, step: () => Promise<T>): Promise<T>;
}

export function createTurns(): Turns {
  const last = new Map<string, Promise<unknown>>();
  return {
    async take(id, step) {
      const before = last.get(id) ?? Promise.resolve();
      const mine = before.then(step, step);
      last.set(id, mine);
      try {
        return await mine;
      } finally {
        if (last.get(id) === mine) last.delete(id);
      }
    },
  };
}
