// What a report that was not taken means: this machine is a copy, or the platform cannot be reached, or it never will take it. Pure.
import type { z } from 'zod';
import { UpstreamError } from '../../client/upstream-error.ts';
import { fenceCode } from '../../contract/local/report.ts';
import { fenceDetails } from '../../contract/resume-reports.ts';

export type FenceCode = z.infer<typeof fenceCode>;

export type ReportFailure =
  | {
      readonly type: 'fenced';
      readonly code: FenceCode;
      readonly known_generation: number | null;
      readonly reason: string;
    }
  /** Of the moment: worth another try. */
  | { readonly type: 'retry'; readonly reason: string; readonly retryAfter_ms: number | undefined }
  /** Of the settings, or of a platform that has no such row: the same until something changes. */
  | { readonly type: 'refused'; readonly reason: string };

export function judgeFailure(error: unknown): ReportFailure {
  if (!(error instanceof UpstreamError)) return { type: 'refused', reason: textOf(error) };
  const code = error.status === 409 ? fenceCode.safeParse(error.code).data : undefined;
  if (code !== undefined) {
    const known_generation = fenceDetails.safeParse(error.details).data?.generation ?? null;
    return { type: 'fenced', code, known_generation, reason: toAdvice(code, known_generation) };
  }
  const reason = error.status === undefined ? error.message : `${error.status} ${error.code}: ${error.message}`;
  // A call that was given up at the deadline of its step has not been answered any more than one that timed out.
  if (!error.retryable && error.code !== 'aborted') return { type: 'refused', reason };
  return { type: 'retry', reason, retryAfter_ms: error.retryAfter_ms };
}

/** For people: what has happened, and what they can do. */
function toAdvice(code: FenceCode, known_generation: number | null): string {
  const cause =
    code === 'rewound'
      ? `the platform has seen a later life of this machine${known_generation === null ? '' : ` (generation ${known_generation})`}, so this is an older copy of it, or its state was lost`
      : 'another machine that was resumed from the same snapshot has reported before this one';
  return `${cause}: the platform refuses every call of this one. Stop one of the two; to keep this one, stop and start the machine through the platform`;
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
