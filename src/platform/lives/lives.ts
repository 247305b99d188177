// The fence: of all the copies of a machine that call with its token, one life is served (resume.md, section 3). What is known comes
// with the token at every call, because another process on the database may have met a newer life.
import type { MachineLife } from '../../contract/resume-reports.ts';
import { RemoraError } from '../../core/remora-error.ts';
import { judgeLife, type LifeVerdict } from './judge-life.ts';
import type { LifeStore } from './life-store.ts';

export interface Lives {
  /**
   * Takes a newer life than `known` as the one that counts. Throws `incarnation_conflict` or `rewound` with the known
   * generation.
   */
  admit(sprite_id: string, known: MachineLife | undefined, claimed: MachineLife): Promise<void>;
  /** Told after a newer life was taken in place of another. */
  onReplaced(listener: () => void): void;
}

const messages: Readonly<Record<Exclude<LifeVerdict, 'same' | 'newer'>, string>> = {
  conflict: 'another machine that was resumed from the same snapshot has called before; this one is not served',
  rewound: 'this machine was resumed later than the copy that is calling, which is not served',
};

export function createLives(store: LifeStore): Lives {
  const listeners: (() => void)[] = [];
  return {
    async admit(sprite_id, given, claimed) {
      let known = given;
      while (checkLife(known, claimed) === 'newer') {
        if (await store.replace(sprite_id, claimed)) {
          if (known !== undefined) for (const listener of listeners) listener();
          return;
        }
        // Another life has called in between, or the machine is gone.
        known = await store.load(sprite_id);
        if (known === undefined) return;
      }
    },
    onReplaced: (listener) => void listeners.push(listener),
  };
}

/** Throws `incarnation_conflict` or `rewound` with the known generation. */
export function checkLife(known: MachineLife | undefined, claimed: MachineLife): 'same' | 'newer' {
  const verdict = judgeLife(known, claimed);
  if (verdict === 'same' || verdict === 'newer') return verdict;
  const code = verdict === 'conflict' ? 'incarnation_conflict' : 'rewound';
  throw new RemoraError(code, messages[verdict], { details: { generation: known?.generation } });
}
