// `remora curl`: the system's curl with the socket filled in.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { constants } from 'node:os';
import { errorCode } from '../../core/error-code.ts';
import type { Invocation } from '../command.ts';
import { toCurlWords } from '../curl-words.ts';
import { findSocketPath } from '../socket-path.ts';

export async function run(invocation: Invocation): Promise<number> {
  const socketPath = findSocketPath(invocation.text('socket'), invocation.env);
  const child = spawn('curl', toCurlWords(invocation.operands, socketPath), { stdio: 'inherit' });
  // Ctrl-C reaches curl too; this process stays to return curl's exit code.
  const stay = () => undefined;
  process.on('SIGINT', stay);
  try {
    const [code, signal]: (number | NodeJS.Signals | null)[] = await once(child, 'exit');
    if (typeof code === 'number') return code;
    return 128 + (typeof signal === 'string' ? constants.signals[signal] : 0);
  } catch (error) {
    if (errorCode(error) === 'ENOENT') throw new Error('curl is not installed');
    throw error;
  } finally {
    process.off('SIGINT', stay);
  }
}
