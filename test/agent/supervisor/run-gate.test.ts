// Who waits until programs may run, and for how long.
import { expect, test } from 'vitest';
import { createRunGate } from '../../../src/agent/supervisor/run-gate.ts';

const never = () => new Promise<void>(() => undefined);
const atOnce = async () => undefined;

test('a caller is told after a while what is waited for, and of that alone', async () => {
  const gate = createRunGate({ 'the first': atOnce, 'the second': never, 'the third': never }, { limit_ms: 20 });
  await expect(gate.passInTime()).rejects.toMatchObject({
    code: 'not_ready',
    message: expect.stringMatching(/: it waits for the second and the third of its sprite to hold$/),
    retryAfter_ms: expect.any(Number),
  });
});

test('programs run once everything holds, and not when one thing cannot', async () => {
  const held = Promise.withResolvers<void>();
  const gate = createRunGate({ 'the first': atOnce, 'the second': () => held.promise });
  const passed = [gate.pass(), gate.passInTime()];
  held.resolve();
  await Promise.all(passed);
  const cannot = createRunGate({ 'the first': never, 'the second': () => Promise.reject(new Error('it needs nft')) });
  await expect(cannot.passInTime()).rejects.toThrow('it needs nft');
  await expect(cannot.pass()).rejects.toThrow('it needs nft');
});

test('what is to begin whenever it may waits for that also when it may not at first, and is told so once', async () => {
  let failures = 3;
  const holds = async () => {
    failures -= 1;
    if (failures >= 0) throw new Error('it needs nft');
  };
  const gate = createRunGate({ 'the first': holds }, { retry_ms: 1 });
  const told: unknown[] = [];
  await gate.passAtLast(new AbortController().signal, (error) => told.push(error));
  expect(told).toEqual([new Error('it needs nft')]);
  failures = Number.MAX_SAFE_INTEGER;
  const stop = new AbortController();
  const waiting = gate.passAtLast(stop.signal, () => stop.abort());
  await expect(waiting).rejects.toMatchObject({ name: 'AbortError' });
});
