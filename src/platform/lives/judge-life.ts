// What the platform makes of a machine that says which life it is in, next to the life that is known. Pure.
import type { MachineLife } from '../../contract/resume-reports.ts';

/**
 * `same`: the life that counts. `newer`: from now on the one that counts. `conflict`: two machines were resumed from the same
 * snapshot, the other one came first. `rewound`: the machine was resumed later than this copy of it.
 */
export type LifeVerdict = 'same' | 'newer' | 'conflict' | 'rewound';

export function judgeLife(known: MachineLife | undefined, claimed: MachineLife): LifeVerdict {
  if (known === undefined || claimed.generation > known.generation) return 'newer';
  if (claimed.generation < known.generation) return 'rewound';
  return claimed.incarnation === known.incarnation ? 'same' : 'conflict';
}
