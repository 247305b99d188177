// The version of the program on the disk. It is loaded as a whole for that, so that one that cannot start is found while this one still
// runs.
import { execFile } from 'node:child_process';
import { toErrorMessage } from '../../core/error-message.ts';
import { RemoraError } from '../../core/remora-error.ts';
import { findProgram, type Program } from './program.ts';

const LIMIT_MS = 20_000;
const VERSION = /^\d+\.\d+\.\d+[\w.+-]*$/;
const REASON_MAX = 300;

/** Nothing else of the environment: what only answers a question needs no settings and no secrets. */
const passed = ['PATH', 'NODE_COMPILE_CACHE'] as const;

/** Throws `start_failed` with what the program says. */
export async function readNewestVersion(env: NodeJS.ProcessEnv): Promise<string> {
  const { node, flags, script, words } = find();
  const given = passed.flatMap((name) => (env[name] === undefined ? [] : [[name, env[name]] as const]));
  const options = { timeout: LIMIT_MS, killSignal: 'SIGKILL', env: Object.fromEntries(given) } as const;
  return await new Promise((resolve, reject) => {
    execFile(node, [...flags, script, ...words, '--check'], options, (error, stdout, stderr) => {
      const version = stdout.trim();
      if (error === null && VERSION.test(version)) resolve(version);
      else reject(toFailure(toReason(error, stderr)));
    });
  });
}

function find(): Program {
  try {
    return findProgram();
  } catch (error) {
    throw toFailure(toErrorMessage(error));
  }
}

function toFailure(reason: string): RemoraError {
  const message = `the program on the disk does not start (${reason.trim().slice(0, REASON_MAX)}); install it again`;
  return new RemoraError('start_failed', `${message}; the agent runs on as it is`);
}

function toReason(error: Error | null, stderr: string): string {
  return stderr.split('\n').find((line) => /error/i.test(line)) ?? error?.message ?? 'it says no version';
}
