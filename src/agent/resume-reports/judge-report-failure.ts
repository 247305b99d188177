// Judges why a report was not accepted: this machine is a copy, or the platform cannot be reached now, or it will never accept it. Pure.
import type { z } from 'zod';
import { UpstreamError } from '../../client/upstream-error.ts';
import { fenceCode } from '../../contract/local/resume-reports.ts';
import { fenceDetails } from '../../contract/resume-reports.ts';
import { toErrorMessage } from '../../core/error-message.ts';

export type FenceCode = z.infer<typeof fenceCode>;

export type ReportFailure =
  | {
      readonly type: 'fenced';
      readonly code: FenceCode;
      readonly known_generation: number | null;
      readonly reason: string;
    }
  /** A passing failure, which is worth another try. `isForeign`: something has answered that is not known to be the platform. */
  | {
      readonly type: 'retry';
      readonly reason: string;
      readonly retryAfter_ms: number | undefined;
      readonly isForeign: boolean;
    }
  /** The platform's own word about the settings, or about an operation that it has not: it stays until something changes. */
  | { readonly type: 'refused'; readonly reason: string };

export function judgeFailure(error: unknown): ReportFailure {
  if (!(error instanceof UpstreamError)) return { type: 'refused', reason: toErrorMessage(error) };
  const code = error.status === 409 ? fenceCode.safeParse(error.code).data : undefined;
  if (code !== undefined) {
    const known_generation = fenceDetails.safeParse(error.details).data?.generation ?? null;
    return { type: 'fenced', code, known_generation, reason: toAdvice(code, known_generation) };
  }
  const reason = error.status === undefined ? error.message : `${error.status} ${error.code}: ${error.message}`;
  if (!error.retryable && error.answeredBy === 'remora') return { type: 'refused', reason };
  // A call that was aborted at the deadline of its step counts like one that timed out: the answer is not known.
  const isForeign = error.answeredBy !== 'remora' && !error.retryable && error.code !== 'aborted';
  return { type: 'retry', reason, retryAfter_ms: error.retryAfter_ms, isForeign };
}

/** Says to people what has happened and what they can do. */
function toAdvice(code: FenceCode, known_generation: number | null): string {
  const cause =
    code === 'rewound'
      ? `the platform has seen a later incarnation of this machine${known_generation === null ? '' : ` (generation ${known_generation})`}, so this is an older copy of it, or its state was lost`
      : 'another machine that was resumed from the same snapshot has reported before this one';
  return `${cause}: the platform refuses every call of this one. Stop one of the two; to keep this one, run \`remora machine adopt\` with the id of the machine beside the platform: its next report takes over`;
}
