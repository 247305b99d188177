// How long machines may be without work, on this platform process.

export interface IdleSettings {
  /** After which a sprite is suspended; undefined: never. */
  readonly sprite_ms: number | undefined;
  /** After which a suspended sprite is stopped; undefined: never. */
  readonly cold_ms: number | undefined;
  /** At most one machine of each app and region is put to sleep in this time, and the last one after it; undefined: never. */
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
