// What a starting platform does with one machine, from what was asked for (stored before anything was done), from what was recorded, and from
// what the driver found: one total table. The state is that of what was found; a move that was begun is finished once. Pure.
import type { RestartPolicy } from '../../../contract/machine-config.ts';
import type { MachineStatus } from '../../../contract/machines.ts';
import type { FoundInstance } from '../drivers/machine-driver.ts';
import { judgeRestart } from '../records/judge-restart.ts';
import type { WantedState } from '../records/machine-row.ts';

export interface RecordedMachine {
  readonly state: MachineStatus;
  readonly wanted: WantedState;
  readonly policy: RestartPolicy;
}

/** `none`: the recorded instance never began. */
export type Found = FoundInstance['state'] | 'none';

/** `follow`: wait for the first report of its agent. `end`: it is to be stopped. */
export type NextStep = 'nothing' | 'end' | 'destroy' | 'thaw' | 'follow' | 'boot';

export interface Intent {
  readonly wanted: readonly WantedState[];
  readonly recorded: readonly MachineStatus[];
  readonly found: readonly Found[];
  readonly condition: 'always' | 'the policy starts it' | 'the policy leaves it';
  /** The state to record before anything is served; `=` keeps the recorded one. */
  readonly to: MachineStatus | '=';
  /** What is left to do once the platform listens. */
  readonly next: NextStep;
}

const states = ['created', 'starting', 'running', 'suspending', 'suspended', 'stopped', 'failed', 'destroyed'] as const;
const idle = ['created', 'stopped', 'failed', 'destroyed'] as const;
const up: readonly WantedState[] = ['running', 'suspended'];
const gone: readonly Found[] = ['over', 'lost', 'none'];
const any: readonly Found[] = ['running', 'suspended', ...gone];

function row(
  wanted: readonly WantedState[],
  recorded: readonly MachineStatus[],
  found: readonly Found[],
  to: Intent['to'],
  next: NextStep,
  condition: Intent['condition'] = 'always',
): Intent {
  return { wanted, recorded, found, condition, to, next };
}

export const intents: readonly Intent[] = [
  row(['destroyed'], states, any, '=', 'destroy'),
  row(['stopped'], states, ['running', 'suspended'], '=', 'end'),
  row(['stopped'], ['starting', 'running', 'suspending', 'suspended'], gone, 'stopped', 'nothing'),
  row(['stopped'], idle, gone, '=', 'nothing'),

  row(up, ['starting'], ['running'], '=', 'follow'),
  row(up, ['running', ...idle], ['running'], 'running', 'nothing'),
  // A suspend that was not finished is dropped: its caller has stopped waiting for it. An unfinished freeze may have stopped some processes.
  row(up, ['suspending', 'suspended'], ['running'], 'running', 'thaw'),
  row(up, ['starting'], ['suspended'], '=', 'thaw'),
  row(up, ['running', 'suspending', 'suspended', ...idle], ['suspended'], 'suspended', 'nothing'),

  // The snapshot ended with its host, or by somebody's hand: the next start is a cold one.
  row(up, ['suspended'], gone, '=', 'nothing'),
  row(up, ['suspending'], gone, 'stopped', 'nothing'),
  row(up, idle, gone, 'stopped', 'boot'),
  // A machine that ended with its host runs again whatever its restart policy says: it did not end by itself.
  row(up, ['starting'], ['lost', 'none'], 'stopped', 'boot'),
  row(up, ['running'], ['lost'], 'stopped', 'boot'),
  row(up, ['starting'], ['over'], 'stopped', 'boot', 'the policy starts it'),
  row(up, ['starting'], ['over'], 'stopped', 'nothing', 'the policy leaves it'),
  row(up, ['running'], ['over', 'none'], 'stopped', 'boot', 'the policy starts it'),
  row(up, ['running'], ['over', 'none'], 'stopped', 'nothing', 'the policy leaves it'),
];

export interface ReconciliationPlan {
  readonly state: MachineStatus;
  /** The recorded instance has ended, and no platform saw how. */
  readonly isOver: boolean;
  readonly next: NextStep;
}

export function planReconciliation(recorded: RecordedMachine, found: Found): ReconciliationPlan {
  const intent = intents.find((each) => applies(each, recorded, found));
  if (intent === undefined) {
    throw new Error(`the table of intents has no row for ${recorded.wanted}, ${recorded.state}, ${found}`);
  }
  const wasUp = !(idle as readonly MachineStatus[]).includes(recorded.state);
  return {
    state: intent.to === '=' ? recorded.state : intent.to,
    isOver: wasUp && gone.includes(found),
    next: intent.next,
  };
}

/** Whether the row is that of the machine: exactly one is. */
export function applies(intent: Intent, { state, wanted, policy }: RecordedMachine, found: Found): boolean {
  if (!intent.wanted.includes(wanted) || !intent.recorded.includes(state) || !intent.found.includes(found))
    return false;
  if (intent.condition === 'always') return true;
  return judgeRestart(policy, { exit_code: null }) === (intent.condition === 'the policy starts it');
}
