// Hooks on a change of the primary: real programs, one change at a time, and the newest of those that came meanwhile.
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createHooks } from '../../../src/agent/hooks/hooks.ts';
import { createPrimaryChangeHooks } from '../../../src/agent/hooks/run-primary-change.ts';
import { createPartBoard } from '../../../src/agent/parts.ts';
import { systemClock } from '../../../src/core/clock.ts';
import { eventually } from '../../support/eventually.ts';
import { tempDir } from '../../support/temp-dir.ts';

/** `hookDeadline_ms`: far more than a hook takes that ends by itself. */
function setUp(script: string, hookDeadline_ms = 60_000) {
  const directory = tempDir();
  mkdirSync(join(directory, 'primary-change.d'));
  const path = join(directory, 'primary-change.d', '10-tell');
  const put = (text: string) => {
    writeFileSync(path, `#!/bin/sh\n${text.replaceAll('DIR', directory)}\n`);
    chmodSync(path, 0o755);
  };
  put(script);
  const board = createPartBoard(systemClock);
  const part = board.part('hooks');
  part.set('ok');
  const hooks = createHooks({ directory, generation: () => 3, hookDeadline_ms });
  const told = (): Record<string, unknown>[] => {
    if (!existsSync(join(directory, 'told'))) return [];
    // The last one may be half written.
    const lines = readFileSync(join(directory, 'told'), 'utf8').split('\n').slice(0, -1);
    return lines.map((line) => JSON.parse(line));
  };
  const tell = createPrimaryChangeHooks(hooks, part);
  return { directory, put, tell, told, hooks, report: () => board.statuses().hooks };
}

test('a hook is told who the primary is and who it was', async () => {
  const { hooks, tell, told, report } = setUp('[ "$1" = primary-change ] && cat >> DIR/told');
  tell({ primary: 'remote', hostname: 'b', previous: { primary: 'self' } });
  await eventually(() => told().length === 1);
  expect(told()).toEqual([
    { phase: 'primary-change', generation: 3, primary: 'remote', hostname: 'b', previous: { primary: 'self' } },
  ]);
  expect(hooks.describe()).toMatchObject({ primary_change: ['10-tell'] });
  expect(report().state).toBe('ok');
});

test('while one runs only the newest change waits', async () => {
  const { directory, tell, told } = setUp(
    'touch DIR/begun; while [ ! -e DIR/go ]; do sleep 0.01; done; cat >> DIR/told',
  );
  tell({ change: 1 });
  await eventually(() => existsSync(join(directory, 'begun')));
  for (let change = 2; change <= 50; change += 1) tell({ change });
  writeFileSync(join(directory, 'go'), '');
  await eventually(() => told().length === 2);
  expect(told().map(({ change }) => change)).toEqual([1, 50]);
});

test('a hook that hangs is killed, and the part says so until it works again', async () => {
  const { put, tell, told, report } = setUp('sleep 60', 4_000);
  tell({ change: 1 });
  await eventually(() => report().state === 'degraded');
  expect(report().reason).toMatch(/after a change of the primary 10-tell: did not end within/);
  put('cat >> DIR/told');
  tell({ change: 2 });
  await eventually(() => report().state === 'ok');
  expect(told()).toMatchObject([{ change: 2 }]);
});
