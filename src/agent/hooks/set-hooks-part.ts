// Sets the part `hooks` while no hook failed. It names the hooks that are not run because another user could have written them.
import type { Part } from '../parts.ts';
import type { Hooks } from './hooks.ts';

export function setHooksPart(part: Part, hooks: Pick<Hooks, 'refusal'>): void {
  const refusal = hooks.refusal();
  part.set(refusal === undefined ? 'ok' : 'degraded', refusal);
}
