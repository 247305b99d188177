// Every method that programs can call in `@fly/sprites`, as it is, against a platform and a machine that runs the real agent.
import { expect, test } from 'vitest';
import { platformOperations } from '../../src/contract/platform-operations.ts';
import { listMethods, listPrivate, watchCalls } from '../support/sdk/methods.ts';
import { openSdkStack, type SdkStack, type Step, type Steps } from '../support/sdk/sdk-stack.ts';
import { checkpointSteps } from '../support/sdk/steps/checkpoint-steps.ts';
import { clientSteps } from '../support/sdk/steps/client-steps.ts';
import { controlSteps } from '../support/sdk/steps/control-steps.ts';
import { fileSteps } from '../support/sdk/steps/file-steps.ts';
import { processSteps } from '../support/sdk/steps/process-steps.ts';
import { proxySteps } from '../support/sdk/steps/proxy-steps.ts';
import { serviceSteps } from '../support/sdk/steps/service-steps.ts';
import { spriteSteps } from '../support/sdk/steps/sprite-steps.ts';

/** Methods of operations that the platform does not serve yet: each must work as soon as its operation is in the contract. */
const pending: Readonly<Record<string, RegExp>> = {
  createCheckpoint: /^(?:Sprite\.\w*Checkpoints?|CheckpointStream\..*|RestoreStream\..*)$/,
  restartSprite: /^(?:Sprite\.restart|SpritesClient\.restartSprite)$/,
  checkSprite: /^(?:Sprite\.check|SpritesClient\.checkSprite)$/,
  watchSprites: /^(?:SpritesClient\.watchSprites|SpriteListStream\..*)$/,
  watchSpritePorts: /^(?:Sprite\.watchPorts|PortWatcher\..*)$/,
  readNetworkPolicy: /^Sprite\.\w*Policy$/,
};

/** Runs when a server breaks the WebSocket protocol, which a test against a platform that keeps it cannot make happen. */
const unreached = ['PortWatcher.fail', 'FilesystemWatcher.fail'];

const steps: Steps = {
  ...clientSteps,
  ...spriteSteps,
  ...processSteps,
  ...controlSteps,
  ...serviceSteps,
  ...fileSteps,
  ...proxySteps,
  ...checkpointSteps,
};

const LIMIT_MS = 20_000;

function isPending(name: string): boolean {
  return Object.entries(pending).some(([id, names]) => !(id in platformOperations) && names.test(name));
}

/** Undefined when the method does what it is for. */
async function drive(name: string, step: Step, stack: SdkStack, called: Set<string>): Promise<string | undefined> {
  called.clear();
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new Error(`nothing within ${LIMIT_MS} ms`)), LIMIT_MS);
  try {
    await Promise.race([step(stack), late.promise]);
    return name.endsWith('()') || called.has(name) ? undefined : 'its step does not call it';
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  } finally {
    clearTimeout(timer);
  }
}

test('every method of the package works', { timeout: 300_000 }, async () => {
  const called = watchCalls();
  const inner = listPrivate();
  const methods = listMethods().filter((name) => !unreached.includes(name));
  const isInner = (name: string) => !(name in steps) && inner.has(name.split('.').at(-1) ?? '');
  const everCalled = new Set<string>();
  const failures: Record<string, string> = {};
  const stack = await openSdkStack();
  for (const [name, step] of Object.entries(steps)) {
    const failure = methods.includes(name) ? await drive(name, step, stack, called) : 'the package has no such method';
    if (failure !== undefined && !isPending(name)) failures[name] = failure;
    for (const one of called) everCalled.add(one);
  }
  for (const name of methods) {
    if (isInner(name) ? !everCalled.has(name) : !(name in steps)) failures[name] = 'no step drives it';
  }
  const open = methods.filter(isPending);
  const passed = methods.filter((name) => !(name in failures) && !open.includes(name));
  process.stdout.write(`@fly/sprites: ${passed.length} of ${methods.length} methods passed, ${open.length} pending\n`);
  expect(failures).toEqual({});
});
