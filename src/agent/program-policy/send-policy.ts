// Has the supervisor keep to a policy.
import { createClient } from '../../client/client.ts';
import { type RefusalWords, toRefusal } from '../../client/to-refusal.ts';
import { type ProgramPolicy, supervisorPolicyOperations } from '../../contract/local/program-policy.ts';
import type { ProcessLink } from '../process-link.ts';

const words: RefusalWords = {
  passedOn: ['invalid_request', 'not_supported'],
  tooOld: {
    message: 'the supervisor that runs in this machine is too old for such a policy; restart the sprite',
    missing: 'a supervisor of this version',
  },
  failed: 'the supervisor does not answer as it should',
};
/** A supervisor that has to be started first takes its time on a machine that is emulated. */
const LIMIT_MS = 60_000;

/** Resolves with what holds. Throws what the supervisor refuses it with, `upstream_failed` and `upstream_timeout`. */
export async function sendPolicy({ dispatcher }: ProcessLink, policy: ProgramPolicy): Promise<ProgramPolicy> {
  const supervisor = createClient(supervisorPolicyOperations, {
    origin: 'http://supervisor',
    dispatcher: () => dispatcher,
    timeout_ms: LIMIT_MS,
  });
  return await supervisor.call('setProgramPolicy', { body: policy }).catch((error: unknown) => {
    throw toRefusal(error, words);
  });
}
