// Every method that programs can call in `@fly/sprites`, as it is, against a `remora dev` and its machine.
import { expect, test } from 'vitest';
import { startDev } from '../support/dev-process.ts';
import { memoryDir } from '../support/memory-dir.ts';
import { allSteps } from '../support/sdk/all-steps.ts';
import { driveStep } from '../support/sdk/drive-step.ts';
import { listMethods, listPrivate, watchCalls } from '../support/sdk/methods.ts';
import { openSdkStack } from '../support/sdk/sdk-stack.ts';

/** Runs when a server breaks the WebSocket protocol, which a test against a platform that keeps it cannot make happen. */
const unreached = ['PortWatcher.fail', 'FilesystemWatcher.fail'];

test('every method of the package works', { timeout: 300_000 }, async () => {
  const called = watchCalls();
  const inner = listPrivate();
  const methods = listMethods().filter((name) => !unreached.includes(name));
  const isInner = (name: string) => !(name in allSteps) && inner.has(name.split('.').at(-1) ?? '');
  const everCalled = new Set<string>();
  const failures: Record<string, string> = {};
  await using dev = await startDev({ dir: memoryDir() });
  const stack = await openSdkStack(dev, dev.record.sprite, 'running');
  for (const [name, step] of Object.entries(allSteps)) {
    const failure = await driveStep(step, stack, {
      onReady: () => called.clear(),
      findFault: () => (name.endsWith('()') || called.has(name) ? undefined : 'its step does not call it'),
    });
    if (failure !== undefined) failures[name] = failure;
    for (const one of called) everCalled.add(one);
  }
  for (const name of Object.keys(allSteps)) {
    if (!methods.includes(name)) failures[name] = 'the package has no such method';
  }
  for (const name of methods) {
    if (isInner(name) ? !everCalled.has(name) : !(name in allSteps)) failures[name] = 'no step drives it';
  }
  const passed = methods.filter((name) => !(name in failures));
  process.stdout.write(`@fly/sprites: ${passed.length} of ${methods.length} methods passed\n`);
  expect(failures).toEqual({});
});
