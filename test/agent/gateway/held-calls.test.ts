import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { HeldCalls } from '../../../src/agent/gateway/held-calls.ts';

const LONG_MS = 60_000;

/** Whether it has resolved once everything that can happen by itself has happened. */
async function isOver(promise: Promise<void>): Promise<boolean> {
  return await Promise.race([promise.then(() => true), sleep(5).then(() => false)]);
}

test('nobody is waited for where there is no call', async () => {
  expect(await isOver(new HeldCalls().answered(LONG_MS))).toBe(true);
});

test('the calls of the moment are waited for, and none that comes later', async () => {
  const held = new HeldCalls();
  const atGate = held.begin();
  const through = held.begin();
  through.pass();
  const answered = held.answered(LONG_MS);
  held.begin();
  through[Symbol.dispose]();
  expect(await isOver(answered)).toBe(false);
  atGate.pass();
  atGate[Symbol.dispose]();
  expect(await isOver(answered)).toBe(true);
});

test('two who wait for the same call are both told', async () => {
  const held = new HeldCalls();
  const call = held.begin();
  const both = [held.answered(LONG_MS), held.answered(LONG_MS)];
  call[Symbol.dispose]();
  expect(await Promise.all(both.map(isOver))).toEqual([true, true]);
});

test('a call that went out before a resume is not waited for, one that was at the gate is', async () => {
  const held = new HeldCalls();
  const sent = held.begin();
  sent.pass();
  held.forgetPassed();
  expect(await isOver(held.answered(LONG_MS))).toBe(true);
  const atGate = held.begin();
  held.forgetPassed();
  const answered = held.answered(LONG_MS);
  expect(await isOver(answered)).toBe(false);
  sent[Symbol.dispose]();
  atGate[Symbol.dispose]();
  expect(await isOver(answered)).toBe(true);
});

test('an answer without an end is waited for until the limit', async () => {
  const held = new HeldCalls();
  held.begin().pass();
  const begun_ms = performance.now();
  await held.answered(30);
  expect(performance.now() - begun_ms).toBeGreaterThanOrEqual(29);
});
