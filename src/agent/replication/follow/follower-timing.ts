// The durations of the follower. A dead node is noticed within silence_ms + probe_ms, which is less than 45 s.

export interface FollowerTiming {
  /** The node is probed when no byte came for this long. */
  readonly silence_ms: number;
  readonly probe_ms: number;
  /** How long `init` may take after the answer 200. */
  readonly init_ms: number;
  /** A connection that lasted this long after `init` makes the next delay short again. */
  readonly stable_ms: number;
  /** The least time between the beginnings of two attempts. */
  readonly spacing_ms: number;
  /** The first attempt after a resume is delayed by a random time up to this. */
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
