// The thread that owns a database file, with a store that dies and hangs when it is asked to.
import { expect, onTestFinished, test } from 'vitest';
import { createDatabaseThread } from '../../src/agent/database-thread/database-thread.ts';
import { eventually } from '../support/eventually.ts';

function openThread(idle_ms?: number) {
  const thread = createDatabaseThread<object, { readonly asked: number; readonly isMemory?: boolean }>({
    script: new URL('../support/database-thread-child.ts', import.meta.url),
    data: undefined,
    file: 'some.db',
    maxOldGenerationSizeMb: 16,
    maxYoungGenerationSizeMb: 2,
    isMemory: (answer) => answer.isMemory,
    idle_ms,
  });
  onTestFinished(() => thread[Symbol.asyncDispose]());
  return thread;
}

test('nothing runs before the first request, nor for a rest', async () => {
  const thread = openThread();
  expect(thread.isRunning).toBe(false);
  await thread.rest();
  expect(thread.isRunning).toBe(false);
  expect(await thread.ask({})).toEqual({ asked: 1 });
  expect(thread.isRunning).toBe(true);
});

test('a rest answers what was asked before it, and the next request starts another thread', async () => {
  const thread = openThread();
  // A busy machine may need longer to start it than a rest waits.
  await thread.ask({});
  const answers = [thread.ask({}), thread.ask({})];
  await thread.rest();
  expect(thread.isRunning).toBe(false);
  expect(await Promise.all(answers)).toEqual([{ asked: 2 }, { asked: 3 }]);
  expect(await thread.ask({})).toEqual({ asked: 1 });
});

test('a thread that dies rejects all that it was asked, with the file and the reason, and is replaced', async () => {
  const thread = openThread();
  await thread.ask({});
  const answers = await Promise.allSettled([thread.ask({ dies: true }), thread.ask({})]);
  expect(answers.map((answer) => answer.status === 'rejected' && String(answer.reason))).toEqual([
    'Error: the thread of some.db ended (no disk)',
    'Error: the thread of some.db ended (no disk)',
  ]);
  expect(thread.isRunning).toBe(false);
  expect(await thread.ask({})).toEqual({ asked: 1 });
});

test('rows in memory outlive a rest and the idle time, until they are in a file', async () => {
  const thread = openThread(20);
  await thread.ask({ isMemory: true });
  await thread.rest();
  const since_ms = performance.now();
  await eventually(() => performance.now() - since_ms > 100);
  expect(await thread.ask({})).toEqual({ asked: 2 });
  await thread.ask({ isMemory: false });
  await eventually(() => !thread.isRunning);
});

test('a thread that hangs is ended', async () => {
  const thread = openThread();
  const answer = thread.ask({ hangs: true }).catch((error: unknown) => String(error));
  await thread.rest();
  expect(await answer).toBe('Error: the thread of some.db ended (exit code 1)');
});
