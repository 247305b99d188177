// Drives the step of one method: with the machine in the wanted state, within a time, and with the reason when it fails.
import type { SdkStack, Step } from './sdk-stack.ts';

const LIMIT_MS = 60_000;

export interface StepHooks {
  /** Called when all that the method needs is there, and the machine is in the state. */
  readonly onReady: () => void;
  /** What is wrong after the method has done what it is for. */
  readonly findFault: () => string | undefined | Promise<string | undefined>;
}

/** Undefined when the method does what it is for. */
export async function driveStep(step: Step, stack: SdkStack, hooks: StepHooks): Promise<string | undefined> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new Error(`nothing within ${LIMIT_MS} ms`)), LIMIT_MS);
  try {
    await Promise.race([runStep(step, stack, hooks.onReady), late.promise]);
    return await hooks.findFault();
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  } finally {
    clearTimeout(timer);
  }
}

async function runStep(step: Step, stack: SdkStack, onReady: () => void): Promise<void> {
  const drive = typeof step === 'function' ? step : await step.prepare(stack);
  await stack.machine.bring(stack.state);
  onReady();
  await drive(stack);
}
