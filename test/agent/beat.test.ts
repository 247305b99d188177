import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { onBeat } from '../../src/agent/beat.ts';
import { eventually } from '../support/eventually.ts';

/** Notes the turn of each call, until the test is over. */
function listen(period_ms: number, turns: number[]): () => void {
  const end = onBeat(period_ms, () => void turns.push(turn));
  onTestFinished(end);
  return end;
}

let turn = 0;

/** Counts the turns of the event loop, until the test is over. */
function countTurns(): void {
  let next: NodeJS.Immediate;
  const count = () => {
    turn += 1;
    next = setImmediate(count);
  };
  count();
  onTestFinished(() => clearImmediate(next));
}

test('calls all of a period in the same turn, whenever they came', async () => {
  countTurns();
  const [one, other, slow]: number[][] = [[], [], []];
  listen(20, one ?? []);
  await sleep(13);
  listen(20, other ?? []);
  listen(70, slow ?? []);
  await eventually(() => (other?.length ?? 0) >= 4 && (slow?.length ?? 0) >= 2);
  expect(one).toEqual(expect.arrayContaining(other ?? []));
  expect(slow?.length).toBeLessThan(other?.length ?? 0);
});

test('calls nobody whose listening is over, and everybody else', async () => {
  const [ended, left]: number[][] = [[], []];
  const end = listen(20, ended ?? []);
  listen(20, left ?? []);
  await eventually(() => (ended?.length ?? 0) >= 2);
  end();
  end();
  const [calls, before] = [ended?.length ?? 0, left?.length ?? 0];
  await eventually(() => (left?.length ?? 0) >= before + 3);
  expect(ended).toHaveLength(calls);
});

test('begins again after the last one has ended', async () => {
  const first: number[] = [];
  const end = listen(30, first);
  await eventually(() => first.length > 0);
  end();
  const again: number[] = [];
  listen(30, again);
  end();
  const calls = first.length;
  await eventually(() => again.length > 1);
  expect(first).toHaveLength(calls);
});
