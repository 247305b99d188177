// A provider's function that takes minutes: its call keeps the extension, and the platform is told to ask again meanwhile.
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { createMemoryResources } from '../../src/provider/index.ts';
import { createResourceCalls } from '../../src/provider/resource-calls.ts';
import { plainFunctions, provisioning } from '../support/kit-provider.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

it('is called once, however long it takes and however often it is asked for', async () => {
  const made = Promise.withResolvers<{ id: string; config: Record<string, string> }>();
  let count = 0;
  const calls = createResourceCalls({
    functions: {
      ...plainFunctions,
      provision() {
        count += 1;
        return made.promise;
      },
    },
    resources: createMemoryResources(),
    clock: { wall_ms: () => Date.now(), mono_ms: () => performance.now() },
    onLateError: (error) => {
      throw error;
    },
    limit_ms: 25_000,
  });
  const ask = () =>
    calls.provision(provisioning('e1') as Parameters<typeof calls.provision>[0]).catch(({ code }) => code);
  for (let minute = 0; minute < 3; minute += 1) {
    const asked = ask();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(await asked).toBe('not_ready');
  }
  made.resolve({ id: 'p1', config: {} });
  const answered = ask();
  await vi.advanceTimersByTimeAsync(1_000);
  expect(await answered).toEqual({ id: 'p1', config: {} });
  expect(count).toBe(1);
});
