// Reads the incarnation that a machine claims from the headers of its request.
import type { IncomingHttpHeaders } from 'node:http';
import { generationHeader, incarnationHeader, nonceHeader } from '../../contract/agent-identity.ts';
import { machineIncarnation } from '../../contract/resume-reports.ts';
import { RemoraError } from '../../core/remora-error.ts';
import type { ClaimedIncarnation } from './known-incarnation.ts';

const NONCE = /^[A-Za-z0-9_-]{43}$/;

/** Undefined when all of them are absent, as in calls by people. Throws `invalid_request` for one alone and for malformed ones. */
export function parseIncarnationHeaders(headers: IncomingHttpHeaders): ClaimedIncarnation | undefined {
  const generation = headers[generationHeader];
  const incarnation = headers[incarnationHeader];
  const nonce = headers[nonceHeader];
  if (generation === undefined && incarnation === undefined && nonce === undefined) return undefined;
  const parsed = machineIncarnation.safeParse({ generation: toNumber(generation), incarnation });
  if (parsed.success && nonce === undefined) return parsed.data;
  if (parsed.success && typeof nonce === 'string' && NONCE.test(nonce)) return { ...parsed.data, nonce };
  const pair = `expected ${generationHeader} as a decimal number and ${incarnationHeader} as 32 hex digits, or neither`;
  throw new RemoraError('invalid_request', `${pair}; ${nonceHeader} only with them, as 43 characters of base64url`);
}

function toNumber(text: string | string[] | undefined): number | undefined {
  return typeof text === 'string' && /^\d{1,16}$/.test(text) ? Number(text) : undefined;
}
