// The status of the gateway: whether calls can be judged, how soon a change of policy is noticed, and whether calls are recorded.
import type { Log } from '../../core/log.ts';
import type { Part } from '../parts.ts';
import type { PolicyUpdate } from './policies/policies.ts';
import type { ChangesState } from './policies/policy-changes.ts';

export interface GatewayStatusOptions {
  readonly part: Part;
  readonly log: Log;
  /** The longest time from one fetch of the policies to the next. */
  readonly refresh_ms: number;
  /** Whether there are policies to judge calls by. */
  readonly isUsable: () => boolean;
  /** Why calls are not recorded; undefined when they are. */
  readonly auditProblem: () => string | undefined;
}

export interface GatewayStatus {
  /** Takes the outcome of a fetch. A problem is logged when it is not the one of the last fetch. */
  onUpdate(update: Pick<PolicyUpdate, 'problem'>): void;
  /** Takes the state of the platform's stream of changes. While it is lost, a removed path, for one, is noticed late. */
  onChanges(state: ChangesState): void;
  /** Sets the state of the part from what is known now. */
  show(): void;
}

export function createGatewayStatus(options: GatewayStatusOptions): GatewayStatus {
  const { part, log } = options;
  const every = `changes are noticed every ${Math.ceil(options.refresh_ms / 1_000)} s only`;
  let problem: string | undefined;
  let changes: ChangesState = { type: 'following' };

  function show(): void {
    const lost = changes.type === 'lost' ? `no stream of policy changes (${changes.problem}); ${every}` : undefined;
    const trouble = problem ?? lost ?? options.auditProblem();
    const note = changes.type === 'missing' ? `the platform does not tell of policy changes; ${every}` : undefined;
    if (options.isUsable()) part.set(trouble === undefined ? 'ok' : 'degraded', trouble ?? note);
    else if (problem === undefined) part.set('starting', 'the policies are being fetched');
    else part.set('failed', `${problem}; every call is refused until it answers`);
  }

  return {
    onUpdate(update) {
      if (update.problem !== undefined && update.problem !== problem) {
        log.warn({ problem: update.problem }, 'the policies could not be refreshed');
      }
      problem = update.problem;
      show();
    },
    onChanges(state) {
      if (state.type === 'lost' && changes.type !== 'lost') {
        log.warn({ problem: state.problem }, "the platform's stream of policy changes is lost");
      }
      if (state.type === 'following' && changes.type === 'lost') {
        log.info({}, "the platform's stream of policy changes is back");
      }
      if (state.type === 'missing' && changes.type !== 'missing') {
        log.info({}, 'the platform has no stream of policy changes');
      }
      changes = state;
      show();
    },
    show,
  };
}
