import { expect, it } from 'vitest';
import type { HookResult } from '../../../src/agent/hooks/run-hook.ts';
import { runPostResume } from '../../../src/agent/hooks/run-post-resume.ts';
import { createPartBoard } from '../../../src/agent/parts.ts';
import { systemClock } from '../../../src/core/clock.ts';

function setUp(results: HookResult[], refusal?: string) {
  const board = createPartBoard(systemClock);
  const part = board.part('hooks');
  const hooks = {
    preSuspend: async () => [],
    undo: async () => [],
    postResume: async () => results,
    describe: () => ({}),
    refusal: () => refusal,
  };
  return { part, run: () => runPostResume(hooks, undefined, part), report: () => board.statuses().hooks };
}

it('leaves the part degraded after a hook that failed, until all work again', async () => {
  const results: HookResult[] = [{ name: '10-mount', ok: false, ms: 5, reason: 'exit code 1' }];
  const { part, run, report } = setUp(results);
  part.set('ok');
  await expect(run()).rejects.toThrow('10-mount: exit code 1');
  expect(report()).toMatchObject({ state: 'degraded', reason: 'after the last resume 10-mount: exit code 1' });
  results[0] = { name: '10-mount', ok: true, ms: 5 };
  await run();
  expect(report().state).toBe('ok');
});

it('leaves the part degraded while hooks are not trusted', async () => {
  const { part, run, report } = setUp([], 'not run: 10 (others may write to it)');
  part.set('ok');
  await run();
  expect(report()).toMatchObject({ state: 'degraded', reason: 'not run: 10 (others may write to it)' });
});

it('leaves the part off where there are no hooks', async () => {
  const { run, report } = setUp([]);
  await run();
  expect(report().state).toBe('off');
});
