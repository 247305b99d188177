// One timer for all that looks at the machine with the same period. Most of the cost of an idle process is its waking up, and timers of their own
// drift apart by the millisecond that wakes it twice.

interface Beat {
  readonly timer: NodeJS.Timeout;
  readonly listeners: Set<() => void>;
}

const beats = new Map<number, Beat>();

/** Calls `listener` every `period_ms`, in one turn with all others of that period, until the result is called. The first call comes within a period. */
export function onBeat(period_ms: number, listener: () => void): () => void {
  const beat = beats.get(period_ms) ?? begin(period_ms);
  const own = () => listener();
  beat.listeners.add(own);
  return () => {
    beat.listeners.delete(own);
    if (beat.listeners.size > 0 || beats.get(period_ms) !== beat) return;
    clearInterval(beat.timer);
    beats.delete(period_ms);
  };
}

function begin(period_ms: number): Beat {
  const listeners = new Set<() => void>();
  const run = () => {
    for (const listener of listeners) listener();
  };
  const beat = { timer: setInterval(run, period_ms), listeners };
  beats.set(period_ms, beat);
  return beat;
}
