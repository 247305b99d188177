// The keys that leave a session and let it run on: `~.` at the beginning of a line, as with ssh. Pure.

const TILDE = 0x7e;
const DOT = 0x2e;
const LINE_ENDS: readonly number[] = [0x0a, 0x0d];

export interface LeaveKey {
  /** What of the typed bytes goes on to the program; undefined once the keys were typed. */
  take(typed: Buffer): Buffer | undefined;
}

/** A `~` at the beginning of a line is held back until the next key; `~~` is one `~`. */
export function createLeaveKey(): LeaveKey {
  let isLineStart = true;
  let isHeld = false;
  return {
    take(typed) {
      const passed: number[] = [];
      for (const key of typed) {
        if (isHeld && key === DOT) return undefined;
        if (isHeld) passed.push(TILDE);
        const wasHeld = isHeld;
        isHeld = !wasHeld && isLineStart && key === TILDE;
        if (!isHeld && !(wasHeld && key === TILDE)) passed.push(key);
        isLineStart = LINE_ENDS.includes(key);
      }
      return Buffer.from(passed);
    },
  };
}
