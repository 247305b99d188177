// One step at a time for each key: a step begins when the earlier ones are over, however they ended.

export interface KeyedMutex {
  run<T>(id: string, step: () => Promise<T>): Promise<T>;
}

export function createKeyedMutex(): KeyedMutex {
  const last = new Map<string, Promise<unknown>>();
  return {
    async run(id, step) {
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
