// The step of the recovery that runs the post-resume hooks. One that fails leaves the part `hooks` degraded until all of them
// work again; it never keeps the machine from serving.
import type { Part } from '../parts.ts';
import type { LastResume } from '../resume/last-resume.ts';
import type { Hooks } from './hooks.ts';

/** Throws when a hook failed, so that the step is reported as failed; all of them have run by then. */
export async function runPostResume(
  hooks: Pick<Hooks, 'postResume'>,
  resume: LastResume | undefined,
  part: Part,
): Promise<void> {
  const results = await hooks.postResume({ ...resume });
  const failed = results.filter((result) => !result.ok);
  if (failed.length === 0) {
    if (part.state !== 'off') part.set('ok');
    return;
  }
  const reason = failed.map((result) => `${result.name}: ${result.reason}`).join('; ');
  part.set('degraded', `after the last resume ${reason}`);
  throw new Error(reason);
}
