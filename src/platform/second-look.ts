// What nobody tells this process: a token that has expired, and what the command line changes in the database beside it. Looked at
// again every so often.

export interface SecondLook extends Disposable {
  /** Runs at each look. */
  onLook(listener: () => void): void;
}

export function startSecondLook(period_ms: number, log: { error(fields: object, message: string): void }): SecondLook {
  const listeners: (() => void)[] = [];
  const timer = setInterval(() => {
    try {
      for (const listener of listeners) listener();
    } catch (err) {
      log.error({ err }, 'open calls could not be looked at again');
    }
  }, period_ms);
  timer.unref();
  return {
    onLook: (listener) => void listeners.push(listener),
    [Symbol.dispose]: () => clearInterval(timer),
  };
}
