// Starts the supervisor where no other one does: as a process of its own that outlives this agent. Under systemd its socket unit starts
// it, and this file is never loaded.
import { join } from 'node:path';
import { NODE_FLAGS } from '../../core/node-flags.ts';
import { MACHINE_VARIABLES } from '../../core/supervisor-wire.ts';
import { makeDirectory } from '../../linux/make-directory.ts';
import { startDetached } from '../start-detached.ts';

const PROGRAM = new URL('../../cli/remora.js', import.meta.url).pathname;

/** What the supervisor gets of the agent's environment. */
const passed = [...MACHINE_VARIABLES, 'NODE_COMPILE_CACHE'] as const;

export interface StartSupervisorOptions {
  /** Where it is to serve. */
  readonly path: string;
  readonly stateDir: string;
  /** The agent's own socket, for the programs that run there. */
  readonly agentSocket: string;
  readonly user: string | undefined;
  readonly home: string | undefined;
  readonly logLevel: string;
  readonly env: NodeJS.ProcessEnv;
}

/** Does not wait for it to serve. Throws when its directory or its log cannot be made. */
export function startSupervisor(options: StartSupervisorOptions): void {
  const directory = join(options.stateDir, 'supervisor');
  makeDirectory(directory, 0o700);
  const flags = ['--socket', options.path, '--state-dir', options.stateDir, '--log-level', options.logLevel];
  const user = options.user === undefined ? [] : ['--user', options.user];
  const home = options.home === undefined ? [] : ['--home', options.home];
  startDetached({
    words: [process.execPath, ...NODE_FLAGS, PROGRAM, 'supervisor', ...flags, ...user, ...home],
    env: { ...pick(options.env), REMORA_SOCKET: options.agentSocket },
    log: join(directory, 'supervisor.log'),
  });
}

function pick(env: NodeJS.ProcessEnv): Record<string, string> {
  return Object.fromEntries(passed.flatMap((name) => (env[name] === undefined ? [] : [[name, env[name]]])));
}
