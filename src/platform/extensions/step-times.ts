// How long the steps of an extension wait and go on, in milliseconds. Pure.
import type { Again } from './judge-answer.ts';

export interface StepTimes {
  /** How long the caller of a change waits for it. */
  readonly answerWithin_ms: number;
  /** The deadline of a provisioning request, and of an update. */
  readonly provision_ms: number;
  /** The deadline of every other request. */
  readonly call_ms: number;
  readonly firstWait_ms: number;
  readonly lastWait_ms: number;
  readonly lastDeleteWait_ms: number;
  /** How long a provider may be down before a person should look. */
  readonly down_ms: number;
  /** How long a step goes on at most; a removal goes on for ever. */
  readonly whole_ms: number;
}

export const defaultStepTimes: StepTimes = {
  answerWithin_ms: 5_000,
  provision_ms: 30_000,
  call_ms: 5_000,
  firstWait_ms: 1_000,
  lastWait_ms: 60_000,
  lastDeleteWait_ms: 600_000,
  down_ms: 300_000,
  whole_ms: 86_400_000,
};

/** Doubles with each try, and is never shorter than what the provider asks for. */
export function toWait(
  times: StepTimes,
  tries: number,
  again?: Pick<Again, 'retryAfter_ms'>,
  last_ms = times.lastWait_ms,
) {
  const wait_ms = Math.min(last_ms, times.firstWait_ms * 2 ** Math.min(Math.max(tries - 1, 0), 30));
  return Math.max(wait_ms, again?.retryAfter_ms ?? 0);
}
