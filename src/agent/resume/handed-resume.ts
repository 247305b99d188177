// What the resume part leaves to the next image of this process. Run time begins anew there, so a moment travels as its age.
import type { WakeMemory } from '../../core/wake-detector.ts';
import type { HandedResume } from '../handover/parcel.ts';

/** `mono_ms` is the clock of this image. */
export function toHandedMemory(
  memory: WakeMemory | undefined,
  mono_ms: number,
): Pick<HandedResume, 'counts' | 'recent'> {
  if (memory?.recent === undefined) return memory === undefined ? {} : { counts: { ...memory.counts } };
  const { noticed_mono_ms, signals, ...recent } = memory.recent;
  return {
    counts: { ...memory.counts },
    recent: { ...recent, signals: [...signals], age_ms: mono_ms - noticed_mono_ms },
  };
}

export function toWakeMemory(handed: HandedResume | undefined, mono_ms: number): WakeMemory | undefined {
  if (handed?.counts === undefined) return undefined;
  if (handed.recent === undefined) return { counts: handed.counts, recent: undefined };
  const { age_ms, ...recent } = handed.recent;
  return { counts: handed.counts, recent: { ...recent, noticed_mono_ms: mono_ms - age_ms } };
}
