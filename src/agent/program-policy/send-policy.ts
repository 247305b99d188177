// Has the supervisor keep to a policy.
import { createClient } from '../../client/client.ts';
import { UpstreamError } from '../../client/upstream-error.ts';
import type { ErrorCode } from '../../contract/errors.ts';
import { type ProgramPolicy, supervisorPolicyOperations } from '../../contract/local/program-policy.ts';
import { RemoraError } from '../../core/remora-error.ts';
import type { ProcessLink } from '../process-link.ts';

const passedOn: readonly ErrorCode[] = ['invalid_request', 'not_supported'];
/** A supervisor that has to be started first takes its time on a machine that is emulated. */
const LIMIT_MS = 60_000;
const NOT_FOUND = 404;

/** Resolves with what holds. Throws what the supervisor refuses it with, `upstream_failed` and `upstream_timeout`. */
export async function sendPolicy({ dispatcher }: ProcessLink, policy: ProgramPolicy): Promise<ProgramPolicy> {
  const supervisor = createClient(supervisorPolicyOperations, {
    origin: 'http://supervisor',
    dispatcher: () => dispatcher,
    timeout_ms: LIMIT_MS,
  });
  return await supervisor.call('setProgramPolicy', { body: policy }).catch((error: unknown) => {
    throw toRefusal(error);
  });
}

function toRefusal(error: unknown): unknown {
  if (!(error instanceof UpstreamError)) return error;
  const { code, message, details, status } = error;
  const own = passedOn.find((each) => each === code);
  if (own !== undefined) return new RemoraError(own, message, { details, cause: error });
  if (status === NOT_FOUND) {
    const old = 'the supervisor that runs in this machine is too old for such a policy; restart the sprite';
    return new RemoraError('not_supported', old, { details: { missing: 'a supervisor of this version' } });
  }
  const failed = code === 'timeout' ? 'upstream_timeout' : 'upstream_failed';
  return new RemoraError(failed, `the supervisor does not answer as it should: ${message}`, { cause: error });
}
