import { AsyncLocalStorage, createHook } from 'node:async_hooks';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { expect, onTestFinished, test } from 'vitest';
import { rehearseLater, rehearseResume } from '../../../src/agent/resume/rehearse-resume.ts';
import { createUpstream } from '../../../src/agent/upstream.ts';
import { silentLog } from '../../support/silent-log.ts';

test('a rehearsal cuts connections once, and leaves no listener and no timer', async () => {
  const channel = 'undici:request:headers';
  const ignore = () => undefined;
  subscribe(channel, ignore);
  onTestFinished(() => void unsubscribe(channel, ignore));
  const before = process.listenerCount('SIGCONT');
  const cuts: string[] = [];
  const cut = () => {
    cuts.push('cut');
    return async () => void cuts.push('ended');
  };
  const left = await timersOf(() => rehearseResume({ cut }));
  expect(cuts).toEqual(['cut', 'ended']);
  expect(process.listenerCount('SIGCONT')).toBe(before);
  expect(left).toEqual([]);
});

test('it comes after the start, with connections that are closed after it', async () => {
  const told: string[] = [];
  const open = async () => {
    const upstream = createUpstream();
    return {
      cut() {
        told.push('cut');
        return upstream.cut();
      },
      async [Symbol.asyncDispose]() {
        await upstream[Symbol.asyncDispose]();
        told.push('closed');
      },
    };
  };
  rehearseLater({ open, log: silentLog, signal: new AbortController().signal, after_ms: 1 });
  expect(told).toEqual([]);
  await expect.poll(() => told).toEqual(['cut', 'closed']);
});

test('it does not come where the agent ends before, and says why it failed', async () => {
  const warned = Promise.withResolvers<object>();
  const log = { warn: (fields: object) => warned.resolve(fields) };
  const stop = new AbortController();
  let opened = 0;
  const open = () => {
    opened += 1;
    return Promise.reject(new Error('no descriptors'));
  };
  rehearseLater({ open, log, signal: stop.signal, after_ms: 1 });
  stop.abort();
  rehearseLater({ open, log, signal: new AbortController().signal, after_ms: 20 });
  expect(await warned.promise).toMatchObject({ err: { message: 'no descriptors' } });
  expect(opened).toBe(1);
});

/** The timers that `run` has begun and that are left when it is over. Those of others in this process come and go. */
async function timersOf(run: () => Promise<void>): Promise<readonly object[]> {
  const inside = new AsyncLocalStorage<true>();
  const timers = new Map<number, object>();
  const hook = createHook({
    init(id, type, _trigger, resource) {
      if (type === 'Timeout' && inside.getStore() === true) timers.set(id, resource);
    },
    destroy: (id) => void timers.delete(id),
  }).enable();
  await inside.run(true, run);
  // The end of a timer is told in a later turn.
  await new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
  hook.disable();
  return [...timers.values()];
}
