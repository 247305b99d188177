// Whether another machine may run on from the same memory after a resume, and so draw the same random numbers as this process.
import type { ResumeCause } from '../../contract/local/resume.ts';

/**
 * A doubtful cause counts as a clone: a needless restart costs less than a second, two machines with one key stream cannot be
 * repaired.
 */
const clones: Readonly<Record<ResumeCause, boolean>> = {
  /** The generation counter moved, which happens for clones. */
  restore: true,
  /** A restore looks like this where there is no counter. */
  vm_paused_silent: true,
  external_time: true,
  /** Some hypervisors set the clock of a restored guest ahead; a restore then looks like a pause. */
  vm_paused: true,
  /** The sender of a poke may know of a restore that no source shows. */
  poke: true,
  /** Memory stayed where it was: the guest slept, or only this process stood still. */
  guest_sleep: false,
  process_stopped: false,
};

export function mayBeClone(cause: ResumeCause): boolean {
  return clones[cause];
}
