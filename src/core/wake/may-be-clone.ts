// Whether another machine may run on from the same memory after a resume, and so draw the same random numbers as this process.
import type { ResumeCause } from '../../contract/local/resume.ts';

/** A needless re-exec costs less than a second, two machines with one key stream cannot be undone: in doubt it is a clone. */
const clones: Readonly<Record<ResumeCause, boolean>> = {
  /** The generation counter moved, which is what it is for. */
  restore: true,
  /** What a restore looks like where there is no counter. */
  vm_paused_silent: true,
  external_time: true,
  /** Some hypervisors set the clock of a restored guest ahead; it then looks like a pause. */
  vm_paused: true,
  /** Who says so knows more than we do. */
  poke: true,
  /** Memory stayed where it was: the guest slept, or only this process stood still. */
  guest_sleep: false,
  process_stopped: false,
};

export function mayBeClone(cause: ResumeCause): boolean {
  return clones[cause];
}
