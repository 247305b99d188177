// Whether the machine that has begun a call or a stream is still the one that is served. Pure.
import { recheckIncarnation } from '../fencing/fencing.ts';
import type { ClaimedIncarnation } from '../fencing/known-incarnation.ts';
import type { Caller } from '../tokens/caller-store.ts';

/** `now`: the present record of the caller. Throws `incarnation_conflict` or `rewound`. */
export function recheckCaller(now: Caller, claimed: ClaimedIncarnation | undefined): void {
  if (now.type !== 'organization' && claimed !== undefined) recheckIncarnation(now.incarnation, claimed);
}
