// A policy for the programs of a supervisor, as its agent sends it.
import type { ProgramPolicy } from '../../src/contract/local/program-policy.ts';
import type { HttpAnswer } from './ask.ts';
import type { SupervisorProcess } from './supervisor-process.ts';

export function setProgramPolicy(
  { ask }: Pick<SupervisorProcess, 'ask'>,
  { privileges = {}, resources = {} }: Partial<ProgramPolicy>,
): Promise<HttpAnswer> {
  return ask({
    method: 'PUT',
    target: '/v1/program-policy',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ privileges, resources }),
  });
}
