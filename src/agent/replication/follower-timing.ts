// The durations of the follower. A dead node is noticed within silence_ms + probe_ms, which is less than 45 s (lessons.md, 14).

export interface FollowerTiming {
  /** Without a byte for this long, the node is probed. */
  readonly silence_ms: number;
  readonly probe_ms: number;
  /** From the 200 to `init`. */
  readonly init_ms: number;
  /** A connection that lasted this long after `init` makes the next delay a short one again. */
  readonly stable_ms: number;
  /** Between the beginnings of two attempts, whatever happened. */
  readonly spacing_ms: number;
  /** The spread of the first attempt after a resume. */
  readonly resume_ms: number;
}

export const followerTiming: FollowerTiming = {
  silence_ms: 30_000,
  probe_ms: 10_000,
  init_ms: 10_000,
  stable_ms: 5_000,
  spacing_ms: 100,
  resume_ms: 100,
};
