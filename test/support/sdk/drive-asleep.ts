// Drives methods against sprites whose machine sleeps: before each one it is suspended, or stopped.
import type { DevProcess } from '../dev-process.ts';
import { stepGroups } from './all-steps.ts';
import { driveStep } from './drive-step.ts';
import { openSdkStack, type SdkStack, type Step } from './sdk-stack.ts';
import { type OperationId, reachesIn, watchRequests } from './watch-requests.ts';

export interface AsleepResult {
  /** Each `state method`. */
  readonly passed: readonly string[];
  readonly failures: Readonly<Record<string, string>>;
}

export interface AsleepChoice {
  readonly isChosen: (method: string) => boolean;
  /** What is wrong with what the method asked for, in order, since its machine slept. */
  readonly judgeAsked: (method: string, asked: readonly OperationId[]) => string | undefined;
}

const states = ['suspended', 'stopped'] as const;

/** Each boots the machine without a word of the agent. */
const movers: readonly OperationId[] = ['restartSprite'];

/** Each group has a sprite of its own, beside the others. */
export async function driveAsleep(dev: DevProcess, { isChosen, judgeAsked }: AsleepChoice): Promise<AsleepResult> {
  const requestsOf = watchRequests();
  const passed: string[] = [];
  const failures: Record<string, string> = {};

  async function driveRow(stack: SdkStack, method: string, step: Step): Promise<void> {
    const asked = requestsOf(stack.sprite.name);
    const failure = await driveStep(step, stack, {
      onReady: () => asked.splice(0),
      findFault: async () => judgeAsked(method, asked) ?? judgeState(asked, await stack.machine.state()),
    });
    if (failure === undefined) passed.push(`${stack.state} ${method}`);
    else failures[`${stack.state} ${method}`] = failure;
  }

  const lanes = Object.entries(stepGroups).map(async ([group, steps]) => {
    for (const state of states) {
      const stack = await openSdkStack(dev, `asleep-${group}`, state);
      for (const [method, step] of Object.entries(steps)) if (isChosen(method)) await driveRow(stack, method, step);
    }
  });
  await Promise.all(lanes);
  return { passed, failures };
}

/** What reaches into a machine wakes it, and nothing else does. */
function judgeState(asked: readonly OperationId[], state: string): string | undefined {
  if (asked.some((id) => movers.includes(id))) return undefined;
  if (asked.some(reachesIn)) return state === 'running' ? undefined : `the machine is ${state}, and was reached into`;
  return state === 'running' ? 'the machine was woken by what the platform knows' : undefined;
}
