// Runs one hook to its end or its deadline: an executable with the context as JSON on stdin, or what post-hook.ts does. The processes that it started end with it.
import { spawn } from 'node:child_process';
import type { Hook } from './list-hooks.ts';

/** `undo`: the suspend was cancelled after this hook had prepared for it. */
export type HookPhase = 'pre-suspend' | 'undo' | 'post-resume' | 'primary-change';

/** What a hook gets. It holds no secret, because it goes into the environment and the stdin of other people's programs. */
export interface HookContext {
  readonly phase: HookPhase;
  readonly generation: number;
  readonly [field: string]: unknown;
}

export interface HookResult {
  readonly name: string;
  readonly ok: boolean;
  /** Run time in milliseconds. */
  readonly ms: number;
  /** Why the hook failed, with the end of what it wrote to stderr. */
  readonly reason?: string;
}

export const WORDS_KEPT = 500;
const WORDS_WAIT_MS = 100;

/** Never rejects: a hook that fails, hangs or cannot be started is a result. */
export async function runHook(hook: Hook, context: HookContext, deadline_ms: number): Promise<HookResult> {
  const started = performance.now();
  const run = hook.kind === 'socket' ? post : spawnHook;
  const reason = await run(hook, context, Math.max(1, deadline_ms)).catch((error: Error) => error.message);
  const ms = Math.round(performance.now() - started);
  return reason === undefined ? { name: hook.name, ok: true, ms } : { name: hook.name, ok: false, ms, reason };
}

async function post(hook: Hook, context: HookContext, deadline_ms: number): Promise<string | undefined> {
  const { postHook } = await import('./post-hook.ts');
  return await postHook(hook, context, deadline_ms);
}

/** Resolves to the reason of the failure; to undefined when the hook succeeded. */
function spawnHook(hook: Hook, context: HookContext, deadline_ms: number): Promise<string | undefined> {
  return new Promise((resolve, reject) => {
    const child = spawn(hook.path, [context.phase], {
      cwd: '/',
      env: toEnvironment(context),
      stdio: ['pipe', 'ignore', 'pipe'],
      detached: true,
    });
    let words = '';
    let late = false;
    const deadline = setTimeout(() => {
      late = true;
      endGroup(child.pid);
    }, deadline_ms);
    child.stderr.setEncoding('utf8');
    child.stderr.on('data', (text: string) => {
      words = (words + text).slice(-WORDS_KEPT);
    });
    child.stdin.on('error', () => undefined);
    child.stdin.end(`${JSON.stringify(context)}\n`);
    child.once('error', (error) => {
      clearTimeout(deadline);
      reject(error);
    });
    child.once('exit', (code, signal) => {
      clearTimeout(deadline);
      const end = () => {
        if (late) resolve(`did not end within ${deadline_ms} ms and was killed`);
        else if (code === 0) resolve(undefined);
        else
          resolve(
            `${code === null ? `was ended by ${signal}` : `exit code ${code}`}${words === '' ? '' : `: ${words.trim()}`}`,
          );
      };
      // The output is complete at `close`, but a process that the hook left behind may keep `close` from coming.
      const rest = setTimeout(end, WORDS_WAIT_MS);
      child.once('close', () => {
        clearTimeout(rest);
        end();
      });
    });
  });
}

/** The environment of a hook: the context, and PATH and the language of the agent's own environment. */
function toEnvironment(context: HookContext): Record<string, string> {
  return {
    PATH: process.env.PATH ?? '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
    LANG: process.env.LANG ?? 'C.UTF-8',
    REMORA_HOOK: context.phase,
    REMORA_GENERATION: String(context.generation),
  };
}

function endGroup(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // The process group has ended by itself in the meantime.
  }
}
