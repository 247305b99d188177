// The fence: of all the copies of a machine that call with its token, one life is served (resume.md, section 3). Asked at every
// call, so what is known is in memory, and written down when it changes.
import type { MachineLife } from '../../contract/resume-reports.ts';
import { RemoraError } from '../../core/remora-error.ts';
import { judgeLife, type LifeVerdict } from './judge-life.ts';
import type { LifeStore } from './life-store.ts';

export interface Lives {
  /** Takes a newer life as the one that counts. Throws `incarnation_conflict` or `rewound` with the known generation. */
  admit(sprite_id: string, claimed: MachineLife): void;
  /** As `admit`, and changes nothing. */
  check(sprite_id: string, claimed: MachineLife): void;
  /** The machine boots anew or is no more: the next life that calls is the one that counts. */
  forget(sprite_id: string): void;
  /** Told after a newer life was taken in place of another. */
  onReplaced(listener: () => void): void;
}

const messages: Readonly<Record<Exclude<LifeVerdict, 'same' | 'newer'>, string>> = {
  conflict: 'another machine that was resumed from the same snapshot has called before; this one is not served',
  rewound: 'this machine was resumed later than the copy that is calling, which is not served',
};

export function createLives(store: LifeStore): Lives {
  const known = new Map<string, MachineLife | undefined>();
  const listeners: (() => void)[] = [];

  function lifeOf(sprite_id: string): MachineLife | undefined {
    if (!known.has(sprite_id)) known.set(sprite_id, store.load(sprite_id));
    return known.get(sprite_id);
  }

  function judge(sprite_id: string, claimed: MachineLife): 'same' | 'newer' {
    const life = lifeOf(sprite_id);
    const verdict = judgeLife(life, claimed);
    if (verdict === 'same' || verdict === 'newer') return verdict;
    const code = verdict === 'conflict' ? 'incarnation_conflict' : 'rewound';
    throw new RemoraError(code, messages[verdict], { details: { generation: life?.generation } });
  }

  return {
    admit(sprite_id, claimed) {
      if (judge(sprite_id, claimed) === 'same') return;
      const replaced = lifeOf(sprite_id) !== undefined;
      store.save(sprite_id, claimed);
      known.set(sprite_id, claimed);
      if (replaced) for (const listener of listeners) listener();
    },
    check(sprite_id, claimed) {
      judge(sprite_id, claimed);
    },
    forget(sprite_id) {
      store.save(sprite_id, undefined);
      known.delete(sprite_id);
    },
    onReplaced: (listener) => void listeners.push(listener),
  };
}
