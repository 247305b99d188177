// Signals a process, or a process group as a negative number.
import { errorCode } from '../../core/error-code.ts';

/** Does nothing for a process that has ended, and for one of another user: whether the signal had its effect is read from the table. */
export function signalProcess(target: number, signal: NodeJS.Signals): void {
  try {
    process.kill(target, signal);
  } catch (error) {
    if (errorCode(error) !== 'ESRCH' && errorCode(error) !== 'EPERM') throw error;
  }
}
