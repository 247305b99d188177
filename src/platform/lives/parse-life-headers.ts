// From the headers of a request to the life that its machine claims to be in.
import type { IncomingHttpHeaders } from 'node:http';
import { generationHeader, incarnationHeader } from '../../contract/agent-identity.ts';
import { type MachineLife, machineLife } from '../../contract/resume-reports.ts';
import { RemoraError } from '../../core/remora-error.ts';

/** Undefined without both headers, which is how people call. Throws `invalid_request` for one alone and for malformed ones. */
export function parseLifeHeaders(headers: IncomingHttpHeaders): MachineLife | undefined {
  const generation = headers[generationHeader];
  const incarnation = headers[incarnationHeader];
  if (generation === undefined && incarnation === undefined) return undefined;
  const life = machineLife.safeParse({ generation: toNumber(generation), incarnation });
  if (life.success) return life.data;
  const message = `expected ${generationHeader} as a decimal number and ${incarnationHeader} as 32 hex digits, or neither`;
  throw new RemoraError('invalid_request', message);
}

function toNumber(text: string | string[] | undefined): number | undefined {
  return typeof text === 'string' && /^\d{1,16}$/.test(text) ? Number(text) : undefined;
}
