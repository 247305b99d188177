// The step of the recovery that runs the post-resume hooks. A hook that fails leaves the part `hooks` degraded until all hooks work
// again; it does not keep the machine from serving.
import type { Part } from '../parts.ts';
import type { LastResume } from '../resume/last-resume.ts';
import type { Hooks } from './hooks.ts';
import { setHooksPart } from './set-hooks-part.ts';

/** Runs all hooks, then throws when one failed, so that the step counts as failed. */
export async function runPostResume(
  hooks: Pick<Hooks, 'postResume' | 'refusal'>,
  resume: LastResume | undefined,
  part: Part,
): Promise<void> {
  const results = await hooks.postResume({ ...resume });
  const failed = results.filter((result) => !result.ok);
  if (failed.length === 0) {
    if (part.state !== 'off') setHooksPart(part, hooks);
    return;
  }
  const reason = failed.map((result) => `${result.name}: ${result.reason}`).join('; ');
  part.set('degraded', `after the last resume ${reason}`);
  throw new Error(reason);
}
