// Tells systemd again and again that this process is well, for as long as it is: the event loop turns, because the timer runs on it,
// and what the process stands on has answered. When systemd hears nothing for as long as the unit says, it starts the process again.

/** How often within the time that systemd waits. */
const BEATS = 4;

export interface WatchdogOptions {
  /** How long systemd waits to hear from this process. */
  readonly limit_ms: number;
  readonly tell: () => void;
  /** Settles when all that must answer has answered; a failure is an answer too. It is not asked again before. */
  readonly ask: () => Promise<unknown>;
  /** Called once each time the answer is so late that systemd is not told any more, and once when it is back. */
  readonly onSilence: (isSilent: boolean) => void;
}

/**
 * Tells systemd at once, and then with each beat after an answer. The answer is that of the beat before: after a halt of the whole
 * machine systemd and this process wake up at the same moment, and systemd must hear of it before it looks at its clock.
 */
export function startWatchdog({ limit_ms, tell, ask, onSilence }: WatchdogOptions): Disposable {
  let hasAnswered = false;
  let isAsking = false;
  let isSilent = false;

  function begin(): void {
    isAsking = true;
    void ask()
      .catch(() => undefined)
      .then(() => {
        isAsking = false;
        hasAnswered = true;
      });
  }

  function beat(): void {
    if (hasAnswered) tell();
    if (isSilent !== !hasAnswered) {
      isSilent = !hasAnswered;
      onSilence(isSilent);
    }
    if (isAsking) return;
    hasAnswered = false;
    begin();
  }

  tell();
  begin();
  const timer = setInterval(beat, Math.max(1, limit_ms / BEATS));
  return { [Symbol.dispose]: () => clearInterval(timer) };
}
