// The exit code of a process as a shell shows it. Pure.
import { constants } from 'node:os';

const SIGNALLED = 128;

/** 128 and the number of the signal for a process that a signal ended. */
export function toExitStatus(code: number | null, signal: NodeJS.Signals | null): number {
  return code ?? SIGNALLED + (signal === null ? 0 : constants.signals[signal]);
}
