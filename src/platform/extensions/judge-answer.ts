// What an answer of a provider means, or that there was none: done, ask again, or refused for good. Pure.
import { RemoraError } from '../../core/remora-error.ts';
import type { SignedAnswer } from '../provider-calls/signed-call.ts';
import { toProviderWords } from './provider-words.ts';

export type Verdict =
  /** `text` is undefined where the answer is too long to be read. */
  | { readonly type: 'done'; readonly status: number; readonly text: string | undefined }
  | Again
  | { readonly type: 'refused'; readonly status: number; readonly code: string; readonly message: string };

export interface Again {
  readonly type: 'again';
  readonly code: string;
  readonly message: string;
  readonly retryAfter_ms: number | undefined;
  /** Nothing shows that the provider works at all: after some minutes of it a person should look. */
  readonly isDown: boolean;
}

/** They ask the caller to come again. */
const PATIENT = new Set([408, 425, 429, 503]);
const DOWN = 'provider_down';

export function judgeAnswer({ status, text, retryAfter_ms }: SignedAnswer): Verdict {
  if (status >= 200 && status < 300) return { type: 'done', status, text };
  const words = toProviderWords(text ?? '');
  const message = `the provider answered ${status}${words === '' ? '' : `: ${words}`}`;
  if (PATIENT.has(status)) return { type: 'again', code: 'provider_busy', message, retryAfter_ms, isDown: false };
  if (status >= 500 && status !== 501) return { type: 'again', code: DOWN, message, retryAfter_ms, isDown: true };
  if (status >= 300 && status < 400) {
    return { type: 'refused', status, code: 'invalid_answer', message: `${message}; redirects are not followed` };
  }
  return { type: 'refused', status, code: 'provider_refused', message };
}

/** Throws what is no failure of a call to the provider. */
export function judgeFailure(error: unknown): Again {
  if (!(error instanceof RemoraError)) throw error;
  const { message } = error;
  if (error.code === 'upstream_timeout') {
    return { type: 'again', code: 'provider_slow', message, retryAfter_ms: undefined, isDown: false };
  }
  if (error.code !== 'upstream_failed') throw error;
  return { type: 'again', code: DOWN, message: toProviderWords(message), retryAfter_ms: undefined, isDown: true };
}
