// Asks a provider for one step of an extension (Extensions API, Provider endpoints). It changes nothing here.
import type { Clock } from '../../core/clock.ts';
import type { ExtensionProvider } from '../extension-providers/extension-provider.ts';
import type { SignedCall, SignedRequest } from '../provider-calls/signed-call.ts';
import type { ExtensionRow } from './extension-row.ts';
import { judgeAnswer, judgeFailure, type Verdict } from './judge-answer.ts';
import { readProvisionAnswer, readResourceAnswer, readUpdateAnswer } from './read-answers.ts';
import type { StepOutcome } from './step-outcome.ts';
import type { StepTimes } from './step-times.ts';
import type { ProvisioningParameters } from './to-parameters.ts';

export interface AskProviderDeps {
  readonly call: SignedCall;
  readonly times: StepTimes;
  readonly clock: Clock;
}

export interface AskProvider {
  provision(provider: ExtensionProvider, parameters: ProvisioningParameters, signal: AbortSignal): Promise<StepOutcome>;
  read(provider: ExtensionProvider, row: ExtensionRow, signal: AbortSignal): Promise<StepOutcome>;
  update(
    provider: ExtensionProvider,
    row: ExtensionRow,
    parameters: ProvisioningParameters,
    signal: AbortSignal,
  ): Promise<StepOutcome>;
  remove(provider: ExtensionProvider, row: ExtensionRow, signal: AbortSignal): Promise<StepOutcome>;
}

/** A request that says what an extension is to be. */
interface Telling {
  readonly method: 'POST' | 'PATCH';
  readonly path: string;
  readonly body: ProvisioningParameters;
  readonly signal: AbortSignal;
}

const COLLECTION = '/extensions';
/** A provider that does not serve the request at all. */
const NOT_SERVED = [404, 405, 410, 501];
const GONE = [404, 410];
/** It has begun to remove the resource, and is asked again. */
const ACCEPTED = 202;
const TOO_LONG = 'it is too long';

/** Each resolves with what came of it, also where the provider cannot be reached, and throws the reason of `signal`. */
export function createAskProvider({ call, times, clock }: AskProviderDeps): AskProvider {
  async function ask(provider: ExtensionProvider, request: SignedRequest): Promise<Verdict> {
    try {
      return judgeAnswer(await call(provider, request));
    } catch (error) {
      request.signal?.throwIfAborted();
      return judgeFailure(error);
    }
  }

  async function tell(
    provider: ExtensionProvider,
    request: Telling,
    read: (text: string) => StepOutcome | { readonly problem: string },
  ): Promise<StepOutcome> {
    const verdict = await ask(provider, { ...request, deadline_ms: times.provision_ms });
    if (verdict.type !== 'done') return verdict;
    if (verdict.text === undefined) return toInvalid(TOO_LONG);
    const outcome = read(verdict.text);
    return 'problem' in outcome ? toInvalid(outcome.problem) : outcome;
  }

  return {
    provision: (provider, body, signal) =>
      tell(provider, { method: 'POST', path: COLLECTION, body, signal }, (text) => {
        const answer = readProvisionAnswer(text);
        return 'problem' in answer ? answer : { type: 'provisioned', answer };
      }),
    async read(provider, row, signal) {
      const asked_at = clock.wall_ms();
      const verdict = await ask(provider, { method: 'GET', path: pathOf(row), deadline_ms: times.call_ms, signal });
      if (verdict.type === 'refused' && NOT_SERVED.includes(verdict.status))
        return { type: 'missing', message: verdict.message };
      if (verdict.type !== 'done') return verdict;
      if (verdict.text === undefined) return toInvalid(TOO_LONG);
      const resource = readResourceAnswer(verdict.text, row.provider_id ?? row.id);
      return resource === undefined ? toInvalid('it is no resource record') : { type: 'read', resource, asked_at };
    },
    update: (provider, row, body, signal) =>
      tell(provider, { method: 'PATCH', path: pathOf(row), body, signal }, (text) => {
        const answer = readUpdateAnswer(text);
        return 'problem' in answer ? answer : { type: 'updated', answer };
      }),
    async remove(provider, row, signal) {
      const verdict = await ask(provider, { method: 'DELETE', path: pathOf(row), deadline_ms: times.call_ms, signal });
      if (verdict.type === 'refused' && GONE.includes(verdict.status)) return { type: 'deleted' };
      if (verdict.type !== 'done') return verdict;
      if (verdict.status !== ACCEPTED) return { type: 'deleted' };
      const message = 'the provider is removing it';
      return { type: 'again', code: 'provider_busy', message, retryAfter_ms: undefined, isDown: false };
    },
  };
}

function toInvalid(problem: string): StepOutcome {
  return { type: 'refused', code: 'invalid_answer', message: `the answer of the provider cannot be used: ${problem}` };
}

/** Our own id stands for the provider's until the provider has said it. */
function pathOf({ id, provider_id }: ExtensionRow): string {
  return `${COLLECTION}/${encodeURIComponent(provider_id ?? id)}`;
}
