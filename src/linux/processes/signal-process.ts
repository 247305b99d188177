// Signals a process, or a process group as a negative number.
import { errorCode } from '../../core/error-code.ts';

/**
 * False when there is no such process or group. Does nothing for one of another user: whether the signal had its effect is read from the
 * table.
 */
export function signalProcess(target: number, signal: NodeJS.Signals): boolean {
  try {
    process.kill(target, signal);
  } catch (error) {
    if (errorCode(error) === 'ESRCH') return false;
    if (errorCode(error) !== 'EPERM') throw error;
  }
  return true;
}
