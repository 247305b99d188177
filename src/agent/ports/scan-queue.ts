// Runs one scan at a time. Callers that come while one runs share the next one, because the one that runs may have passed what they
// ask for.

export interface ScanQueue {
  /** Resolves after a scan that began after this call. Rejects when that scan failed. */
  run(): Promise<void>;
  /** Resolves when the scan that runs is over, whatever came of it. */
  idle(): Promise<void>;
}

/** `onEnd` is called after each scan, before the next one begins. */
export function createScanQueue(scan: () => Promise<void>, onEnd: () => void): ScanQueue {
  let running: Promise<void> | undefined;
  let next: Promise<void> | undefined;

  function begin(): Promise<void> {
    const mine = scan().finally(() => {
      running = undefined;
      onEnd();
    });
    running = mine;
    return mine;
  }

  return {
    run() {
      if (running === undefined) return begin();
      next ??= running
        .catch(() => undefined)
        .then(() => {
          next = undefined;
          return begin();
        });
      return next;
    },
    async idle() {
      await running?.catch(() => undefined);
    },
  };
}
