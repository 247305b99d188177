// The step of the recovery that runs the post-resume hooks and tells when one of them failed.
import type { LastResume } from '../resume/last-resume.ts';
import type { Hooks } from './hooks.ts';

/** Throws when a hook failed, so that the step is reported as failed; all of them have run by then. */
export async function runPostResume(hooks: Hooks, resume: LastResume | undefined): Promise<void> {
  const results = await hooks.postResume({ ...resume });
  const failed = results.filter((result) => !result.ok);
  if (failed.length > 0) throw new Error(failed.map((result) => `${result.name}: ${result.reason}`).join('; '));
}
