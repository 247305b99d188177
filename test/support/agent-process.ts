// The real daemon as a child process, with settings of the test and nothing else, gone when the test ends.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { ask, type HttpAnswer, type Question } from './ask.ts';
import { atEnd } from './at-end.ts';
import { remoraPath } from './run-remora.ts';
import { tempDir } from './temp-dir.ts';

export interface AgentProcess {
  readonly child: ChildProcess;
  readonly dir: string;
  readonly socket: string;
  ask(question: Question): Promise<HttpAnswer>;
  get(target: string): Promise<HttpAnswer>;
  /** Everything it wrote to its log so far. */
  log(): string;
  /** The exit code, or the signal that ended it. */
  readonly ended: Promise<number | NodeJS.Signals | null>;
}

/** Starts `remora agent`, or another program of the daemon, without waiting for it. `dir` holds its socket and its state. */
export function spawnAgent(
  env: Readonly<Record<string, string>> = {},
  dir = tempDir(),
  program = remoraPath,
): AgentProcess {
  const socket = env.REMORA_SOCKET ?? join(dir, 'agent.sock');
  const child = spawn(process.execPath, [program, 'agent'], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      PATH: process.env.PATH ?? '',
      REMORA_SOCKET: socket,
      REMORA_STATE_DIR: join(dir, 'state'),
      REMORA_LOG_LEVEL: 'debug',
      ...env,
    },
  });
  let text = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
    });
  }
  const ended = once(child, 'close').then(([code, signal]) => code ?? signal);
  atEnd(async () => {
    child.kill('SIGKILL');
    await ended;
  });
  const put = (question: Question) => ask(socket, question);
  return { child, dir, socket, ask: put, get: (target) => put({ target }), log: () => text, ended };
}

/** Starts it and waits until it serves and every part has settled. */
export async function startAgent(
  env: Readonly<Record<string, string>> = {},
  dir?: string,
  program?: string,
): Promise<AgentProcess> {
  const agent = spawnAgent(env, dir, program);
  const deadline = performance.now() + 120_000;
  for (;;) {
    // Health is answered before the parts are open; how ready they are, whatever that is, only then.
    const answer = await agent.get('/v1/ready').catch(() => undefined);
    if (answer !== undefined) return agent;
    if (agent.child.exitCode !== null || performance.now() > deadline)
      throw new Error(`it does not serve: ${agent.log()}`);
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
}
