// Runs the hooks of a directory one after the other: those of `pre-suspend.d` in the reverse order of their names, those of
// `post-resume.d` and `primary-change.d` in the order of their names. When a hook of `pre-suspend.d` fails, those that ran are
// undone, the last one first.
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { RemoraError } from '../../core/remora-error.ts';
import { type Hook, type HookList, listHooks } from './list-hooks.ts';
import { type HookContext, type HookPhase, type HookResult, runHook } from './run-hook.ts';

export const HOOK_DEADLINE_MS = 5_000;
export const HOOKS_DEADLINE_MS = 10_000;
const HOOK_DIRECTORIES = ['pre-suspend.d', 'post-resume.d', 'primary-change.d'];

export interface HooksOptions {
  /** Holds `pre-suspend.d`, `post-resume.d` and `primary-change.d`; undefined = no hooks. */
  readonly directory: string | undefined;
  readonly generation: () => number;
  readonly hookDeadline_ms?: number;
  readonly hooksDeadline_ms?: number;
}

export interface Hooks {
  /** Throws `hook_failed` after the hooks that had run were undone; `details.hooks` has the result of each. */
  preSuspend(fields: Readonly<Record<string, unknown>>): Promise<readonly HookResult[]>;
  /** Undoes what the last `preSuspend` did, once, when the suspend was refused or interrupted. */
  undo(reason: string): Promise<readonly HookResult[]>;
  /** Runs the hooks of a resume. Nothing is left to undo then. */
  postResume(fields: Readonly<Record<string, unknown>>): Promise<readonly HookResult[]>;
  /** Runs the hooks of a change of the primary. */
  primaryChange(fields: Readonly<Record<string, unknown>>): Promise<readonly HookResult[]>;
  /** The contents of the directories, for /v1/status. */
  describe(): Record<string, unknown>;
  /** Names the hooks that are not run because another user can write them; undefined when there are none. */
  refusal(): string | undefined;
}

export function createHooks(options: HooksOptions): Hooks {
  const each_ms = options.hookDeadline_ms ?? HOOK_DEADLINE_MS;
  const all_ms = options.hooksDeadline_ms ?? HOOKS_DEADLINE_MS;
  /** The hooks that prepared for the suspend, in the order in which they ran. */
  let prepared: Hook[] = [];

  const list = (name: string) =>
    options.directory === undefined ? { hooks: [], skipped: [] } : listHooks(join(options.directory, name));

  /** Runs the hooks one after the other within the common deadline, until `goOn` returns false. */
  async function run(
    hooks: readonly Hook[],
    phase: HookPhase,
    fields: Readonly<Record<string, unknown>>,
    goOn: (hook: Hook, result: HookResult) => boolean,
  ): Promise<HookResult[]> {
    const end_ms = performance.now() + all_ms;
    const context: HookContext = { ...fields, phase, generation: options.generation() };
    const results: HookResult[] = [];
    for (const hook of hooks) {
      const left_ms = end_ms - performance.now();
      const late = { name: hook.name, ok: false, ms: 0, reason: `not run: the hooks together have ${all_ms} ms` };
      const result = left_ms <= 0 ? late : await runHook(hook, context, Math.min(each_ms, Math.floor(left_ms)));
      results.push(result);
      if (!goOn(hook, result)) break;
    }
    return results;
  }

  async function undo(reason: string): Promise<HookResult[]> {
    const hooks = prepared.toReversed();
    prepared = [];
    return await run(hooks, 'undo', { reason }, () => true);
  }

  return {
    undo,
    async preSuspend(fields) {
      prepared = [];
      const results = await run(list('pre-suspend.d').hooks.toReversed(), 'pre-suspend', fields, (hook, result) => {
        if (result.ok) prepared.push(hook);
        return result.ok;
      });
      const failed = results.find((result) => !result.ok);
      if (failed === undefined) return results;
      const undone = await undo(`the hook ${failed.name} failed`);
      const message = `the pre-suspend hook ${failed.name} stopped the suspend: ${failed.reason}; the machine stays awake`;
      throw new RemoraError('hook_failed', message, { details: { hooks: results, undone } });
    },
    async postResume(fields) {
      prepared = [];
      return await run(list('post-resume.d').hooks, 'post-resume', fields, () => true);
    },
    primaryChange: (fields) => run(list('primary-change.d').hooks, 'primary-change', fields, () => true),
    describe: () => ({
      directory: options.directory ?? null,
      ...summary(list('pre-suspend.d'), list('post-resume.d'), list('primary-change.d')),
    }),
    refusal() {
      const { directory } = options;
      if (directory !== undefined && statSync(directory, { throwIfNoEntry: false })?.isDirectory() === false) {
        return `none are run: ${directory} is not a directory`;
      }
      const refused = HOOK_DIRECTORIES.flatMap((name) => list(name).skipped).filter(({ untrusted }) => untrusted);
      if (refused.length === 0) return undefined;
      return `not run: ${refused.map(({ name, reason }) => `${name} (${reason})`).join('; ')}`;
    },
  };
}

function summary(before: HookList, after: HookList, primary: HookList) {
  const names = ({ hooks }: HookList) => hooks.map((hook) => hook.name);
  return {
    pre_suspend: names(before),
    post_resume: names(after),
    primary_change: names(primary),
    skipped: [before, after, primary].flatMap(({ skipped }) => skipped.map(({ name, reason }) => ({ name, reason }))),
  };
}
