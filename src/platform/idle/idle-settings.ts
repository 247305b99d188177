// How long machines may be without work, on this platform process.

export interface IdleSettings {
  /** How long a sprite is idle before it is suspended; undefined: it never is. */
  readonly sprite_ms: number | undefined;
  /** How long a sprite is suspended before it is stopped; undefined: it never is. */
  readonly cold_ms: number | undefined;
  /** One machine of each app and region at most is put to sleep in this time, and the last one after it; undefined: never. */
  readonly round_ms: number | undefined;
  /** How long a start waits where no more sprites may run; 0: it is refused at once. */
  readonly startWait_ms: number;
}

/** What a platform does of which nothing else is said: it puts no machine to sleep. */
export const NEVER_IDLE: IdleSettings = {
  sprite_ms: undefined,
  cold_ms: undefined,
  round_ms: undefined,
  startWait_ms: 0,
};
