// The fence: only one of the copies of a machine that call with its token is served. The known incarnation is read together with the
// token at every call, because another process on the database may have admitted a newer incarnation.
import { RemoraError } from '../../core/remora-error.ts';
import { randomToken } from '../../core/urandom.ts';
import type { Changes } from '../changes.ts';
import type { IncarnationStore } from './incarnation-store.ts';
import { type IncarnationVerdict, judgeIncarnation } from './judge-incarnation.ts';
import { judgeTakeOver } from './judge-take-over.ts';
import { addPending, type ClaimedIncarnation, type KnownIncarnation, toNonceHash } from './known-incarnation.ts';

export interface IncarnationReport {
  readonly claimed: ClaimedIncarnation;
  /** No resume report of this agent was ever accepted. */
  readonly isNewInstallation: boolean;
  /** The machine runs outside the platform, which does not see whether its disk is copied. */
  readonly isExternal: boolean;
  readonly now_ms: number;
}

export interface TakenReport {
  /** The nonce that all later calls must carry; undefined when the report came with the current one. */
  readonly nonce?: string;
  /** The generation that the machine has from now on; set when it took over. */
  readonly generation?: number;
  /** The incarnation that it replaced. */
  readonly replaced?: KnownIncarnation;
}

export interface Fencing {
  /**
   * Admits a call. An incarnation newer than `known` becomes the current one; the first nonce that a call carries is confirmed.
   * Throws `incarnation_conflict` or `rewound` with the known generation.
   */
  admit(sprite_id: string, known: KnownIncarnation | undefined, claimed: ClaimedIncarnation): Promise<void>;
  /** Accepts a resume report. Throws as `admit` does, and `too_many_requests` for a take-over that comes too soon after another. */
  report(sprite_id: string, report: IncarnationReport): Promise<TakenReport>;
}

const NONCE_BYTES = 32;
const REMEDY =
  'to have this one served, run `remora machine adopt MACHINE` beside the platform: its next report takes over then';
const messages: Readonly<Record<'conflict' | 'rewound', string>> = {
  conflict: `another machine that was resumed from the same snapshot has called before; this one is not served; ${REMEDY}`,
  rewound: `the platform serves a later incarnation of this machine, and not this one; ${REMEDY}`,
};

/** `changes` gets `incarnation_replaced` after one machine was taken in place of another. */
export function createFencing(store: IncarnationStore, changes: Pick<Changes, 'publish'>): Fencing {
  const publishReplaced = (sprite_id: string) => changes.publish({ type: 'incarnation_replaced', sprite_id });

  /** False when another call has changed the record in between. */
  async function write(
    sprite_id: string,
    known: KnownIncarnation | undefined,
    claimed: ClaimedIncarnation,
  ): Promise<boolean> {
    const verdict = checkIncarnation(known, claimed);
    if (verdict === 'newer') {
      if (!(await store.replace(sprite_id, { ...claimed, nonces: { type: 'none' } }))) return false;
      if (known !== undefined) publishReplaced(sprite_id);
    }
    if (verdict === 'confirms' && known !== undefined && claimed.nonce !== undefined) {
      const nonces = { type: 'confirmed', hash: toNonceHash(claimed.nonce) } as const;
      if (!(await store.setNonces(sprite_id, known, nonces))) return false;
      publishReplaced(sprite_id);
    }
    return true;
  }

  /** Undefined when another call has changed the record in between. */
  async function take(sprite_id: string, report: IncarnationReport): Promise<TakenReport | undefined> {
    const { claimed } = report;
    const record = await store.load(sprite_id);
    if (record === undefined) return {};
    const { known } = record;
    const verdict = judgeIncarnation(known, claimed);
    if (verdict === 'same') return {};
    if (verdict === 'confirms') return (await write(sprite_id, known, claimed)) ? {} : undefined;
    const nonce = randomToken(NONCE_BYTES);
    const hash = toNonceHash(nonce);
    const pending = { ...claimed, nonces: addPending({ type: 'none' }, hash) };
    if (known === undefined || verdict === 'newer') {
      if (!(await store.replace(sprite_id, pending))) return undefined;
      if (known !== undefined) publishReplaced(sprite_id);
      return { nonce };
    }
    if (verdict === 'unconfirmed') {
      return (await store.setNonces(sprite_id, known, addPending(known.nonces, hash))) ? { nonce } : undefined;
    }
    switch (judgeTakeOver({ ...record, known }, report)) {
      case 'refused':
        throw toRefusal(verdict, known);
      case 'again':
        if (!(await store.setNonces(sprite_id, known, addPending(known.nonces, hash)))) return undefined;
        return { nonce, generation: known.generation };
      default: {
        const generation = known.generation + 1;
        if (!(await store.takeOver(sprite_id, known, { ...pending, generation }, report.now_ms))) return undefined;
        publishReplaced(sprite_id);
        return { nonce, generation, replaced: known };
      }
    }
  }

  return {
    async admit(sprite_id, given, claimed) {
      let known = given;
      while (!(await write(sprite_id, known, claimed))) {
        // Another incarnation was recorded in between, or the machine is gone.
        known = (await store.load(sprite_id))?.known;
        if (known === undefined) return;
      }
    },
    async report(sprite_id, report) {
      for (;;) {
        const taken = await take(sprite_id, report);
        if (taken !== undefined) return taken;
      }
    },
  };
}

/** Throws `incarnation_conflict` or `rewound` with the known generation. */
export function checkIncarnation(
  known: KnownIncarnation | undefined,
  claimed: ClaimedIncarnation,
): Exclude<IncarnationVerdict, 'conflict' | 'rewound'> {
  const verdict = judgeIncarnation(known, claimed);
  if (verdict === 'conflict' || verdict === 'rewound') throw toRefusal(verdict, known);
  return verdict;
}

/** Whether a call comes from the incarnation that is served, so that nothing is to be recorded. Throws as `checkIncarnation` does. */
export function isServed(known: KnownIncarnation | undefined, claimed: ClaimedIncarnation): boolean {
  const verdict = checkIncarnation(known, claimed);
  return verdict === 'same' || verdict === 'unconfirmed';
}

/**
 * Judges a call in flight again, as `checkIncarnation` does. A call that began without a nonce, before one was required, may come from
 * either copy and goes on.
 */
export function recheckIncarnation(known: KnownIncarnation | undefined, claimed: ClaimedIncarnation): void {
  const isEqual = known?.generation === claimed.generation && known.incarnation === claimed.incarnation;
  if (claimed.nonce !== undefined || !isEqual) checkIncarnation(known, claimed);
}

function toRefusal(verdict: 'conflict' | 'rewound', known: KnownIncarnation | undefined): RemoraError {
  const code = verdict === 'conflict' ? 'incarnation_conflict' : 'rewound';
  return new RemoraError(code, messages[verdict], { details: { generation: known?.generation } });
}
