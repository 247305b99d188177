// What the resume part leaves to the next process. Run time starts at 0 there, so a moment is passed on as its age.

import type { DetectorMemory } from '../../core/resume/resume-detector.ts';
import { Secret } from '../../core/secret.ts';
import type { RestartResume } from '../restart/restart-state.ts';
import type { KeptIncarnation } from './incarnation.ts';
import type { LastResume } from './last-resume.ts';

function toRestartIncarnation({ nonce, ...rest }: KeptIncarnation): RestartResume['life'] {
  return nonce === undefined ? rest : { ...rest, nonce: nonce.reveal() };
}

export function toKeptIncarnation({ nonce, ...rest }: RestartResume['life']): KeptIncarnation {
  return { ...rest, nonce: nonce === undefined ? undefined : new Secret(nonce) };
}

/** Call it when nothing runs any more, with the `memory` of the moment in which the restart began. */
export function toRestartResume(
  kept: KeptIncarnation,
  last: LastResume | undefined,
  memory: RestartMemory,
): RestartResume {
  return { life: toRestartIncarnation(kept), ...(last === undefined ? {} : { last }), ...memory };
}

export type RestartMemory = Pick<RestartResume, 'counts' | 'recent' | 'recovery'>;

/** `mono_ms` is the run time of this image. */
export function toRestartMemory(memory: DetectorMemory | undefined, mono_ms: number): RestartMemory {
  if (memory?.recent === undefined) return memory === undefined ? {} : { counts: { ...memory.counts } };
  const { noticed_mono_ms, signals, ...recent } = memory.recent;
  return {
    counts: { ...memory.counts },
    recent: { ...recent, signals: [...signals], age_ms: mono_ms - noticed_mono_ms },
  };
}

export function toDetectorMemory(handed: RestartResume | undefined, mono_ms: number): DetectorMemory | undefined {
  if (handed?.counts === undefined) return undefined;
  if (handed.recent === undefined) return { counts: handed.counts, recent: undefined };
  const { age_ms, ...recent } = handed.recent;
  return { counts: handed.counts, recent: { ...recent, noticed_mono_ms: mono_ms - age_ms } };
}
