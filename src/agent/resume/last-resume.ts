// The last resume, as GET /v1/machine shows it.
import type { z } from 'zod';
import type { lastResume } from '../../contract/local/machine.ts';
import { toDateTime } from '../../core/clock.ts';
import type { Resume } from '../../core/resume/resume-record.ts';

export type LastResume = z.infer<typeof lastResume>;

export function toLastResume(resume: Resume, wall_ms: number, generation: number): LastResume {
  const { gap_ms, wall_skew_ms, signals, cause, certainty } = resume;
  return { at: toDateTime(wall_ms), gap_ms, wall_skew_ms, signals: [...signals], cause, certainty, generation };
}
