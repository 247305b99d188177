// The answers of a provider's kit, as values: an adapter writes them.
import { ERROR_MARKER, errorStatus } from '../contract/errors.ts';
import type { RemoraError } from '../core/remora-error.ts';

export interface ProviderAnswer {
  readonly status: number;
  /** Names are in lower case; one may come more than once. */
  readonly headers: readonly (readonly [string, string])[];
  readonly body: string;
}

export function jsonAnswer(status: number, value: unknown): ProviderAnswer {
  const headers = [
    ['content-type', 'application/json'],
    // The answer to a provisioning request holds secrets.
    ['cache-control', 'no-store'],
  ] as const;
  return { status, headers, body: `${JSON.stringify(value)}\n` };
}

export const emptyAnswer: ProviderAnswer = { status: 204, headers: [], body: '' };

export function errorAnswer({ code, message, details, retryAfter_ms }: RemoraError): ProviderAnswer {
  const answer = jsonAnswer(errorStatus[code], { error: code, message, details });
  const more: [string, string][] = [[ERROR_MARKER, code]];
  if (retryAfter_ms !== undefined) more.push(['retry-after', String(Math.max(1, Math.ceil(retryAfter_ms / 1_000)))]);
  if (code === 'method_not_allowed') more.push(['allow', toAllow(details)]);
  return { ...answer, headers: [...answer.headers, ...more] };
}

function toAllow(details: unknown): string {
  return typeof details === 'object' && details !== null ? String(Reflect.get(details, 'allow') ?? '') : '';
}
