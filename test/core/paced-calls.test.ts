// Calls that are made in their order, and only so many of them in one turn.
import { expect, it } from 'vitest';
import { createPacedCalls } from '../../src/core/paced-calls.ts';
import { countSteps } from '../support/count-turns.ts';

it('makes the first calls at once and the others in later turns, in order', async () => {
  const calls = createPacedCalls(10);
  const { step, perTurn } = countSteps();
  const made: number[] = [];
  for (let call = 0; call < 25; call += 1) {
    calls.add(1, () => {
      step();
      made.push(call);
    });
  }
  expect(made).toHaveLength(10);
  await calls.done();
  expect(made).toEqual(Array.from({ length: 25 }, (_, call) => call));
  expect(perTurn()).toEqual([10, 10, 5]);
});

it('makes a call that costs more than a turn in a turn of its own', async () => {
  const calls = createPacedCalls(10);
  const { step, perTurn } = countSteps();
  for (let call = 0; call < 3; call += 1) calls.add(1_000, step);
  await calls.done();
  expect(perTurn()).toEqual([1, 1, 1]);
});

it('keeps the order of calls that a call adds, and has nothing to wait for when none waits', async () => {
  const calls = createPacedCalls(1);
  const made: string[] = [];
  expect(calls.done()).toBeUndefined();
  calls.add(1, () => {
    made.push('a');
    calls.add(1, () => made.push('c'));
  });
  calls.add(1, () => made.push('d'));
  expect(calls.done()).toBeDefined();
  await calls.done();
  expect(made).toEqual(['a', 'c', 'd']);
  expect(calls.done()).toBeUndefined();
  await new Promise((resolve) => setTimeout(resolve, 5));
  calls.add(1, () => made.push('e'));
  expect(made.at(-1)).toBe('e');
});
