// What came of asking a provider for one step of an extension.
import type { Again } from './judge-answer.ts';
import type { KnownResource, ProvisionAnswer } from './read-answers.ts';

export type StepOutcome =
  | { readonly type: 'provisioned'; readonly answer: ProvisionAnswer }
  /** `asked_at`: when the request was sent, in Unix milliseconds. */
  | { readonly type: 'read'; readonly resource: KnownResource; readonly asked_at: number }
  /** The provider does not know the resource. */
  | { readonly type: 'missing'; readonly message: string }
  | { readonly type: 'updated'; readonly answer: Partial<ProvisionAnswer> }
  | { readonly type: 'deleted' }
  | Again
  | { readonly type: 'refused'; readonly code: string; readonly message: string };
