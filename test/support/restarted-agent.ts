// The real daemon, started again whenever it ends for that, as systemd and the process driver do.
import type { ChildProcess } from 'node:child_process';
import { RESTART_EXIT_CODE } from '../../src/core/restart.ts';
import { type AgentProcess, spawnAgent } from './agent-process.ts';
import { eventually } from './eventually.ts';
import { tempDir } from './temp-dir.ts';

export interface RestartedAgent extends Pick<AgentProcess, 'dir' | 'socket' | 'ask' | 'get'> {
  /** The process of this moment. */
  readonly child: ChildProcess;
  /** How often it was started again. */
  readonly restarts: number;
  /** The log of all its processes. */
  log(): string;
  /** How the last process ended, which asked for no other. */
  readonly ended: Promise<number | NodeJS.Signals | null>;
  /** Resolves when a process later than the first `count` ones serves. */
  served(count: number): Promise<void>;
}

/** Resolves when it serves. */
export async function startRestartedAgent(
  env: Readonly<Record<string, string>> = {},
  dir = tempDir(),
  program?: string,
): Promise<RestartedAgent> {
  const spawn = () => spawnAgent({ REMORA_STARTED_AGAIN: 'true', ...env }, dir, program);
  const all = [spawn()];
  const last = () => all.at(-1) as AgentProcess;
  async function run(): Promise<number | NodeJS.Signals | null> {
    for (;;) {
      const code = await last().ended;
      if (code !== RESTART_EXIT_CODE) return code;
      all.push(spawn());
    }
  }
  const ended = run();
  const [{ socket, ask, get }] = all as [AgentProcess];
  const serves = async () => (await get('/v1/ready').catch(() => undefined)) !== undefined;
  await eventually(serves);
  return {
    dir,
    socket,
    ask,
    get,
    get child() {
      return last().child;
    },
    get restarts() {
      return all.length - 1;
    },
    log: () => all.map((each) => each.log()).join(''),
    ended,
    served: (count) => eventually(async () => all.length - 1 >= count && (await serves())).then(() => undefined),
  };
}
