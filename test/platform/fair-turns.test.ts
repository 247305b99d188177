import { expect, it } from 'vitest';
import { FairTurns } from '../../src/platform/tokens/fair-turns.ts';

/** What a call costs that holds the event loop for a moment. */
function work(ms: number): void {
  const until_ms = performance.now() + ms;
  while (performance.now() < until_ms) Math.sqrt(until_ms);
}

it('lets one of each go on at once, and the others in their order', async () => {
  const turns = new FairTurns();
  const order: string[] = [];
  const call = async (key: string, name: string) => {
    const turn = turns.enter(key);
    if (turn !== undefined) await turn;
    order.push(name);
  };
  await Promise.all([call('a', 'a1'), call('a', 'a2'), call('b', 'b1'), call('a', 'a3'), call('b', 'b2')]);
  expect(order.slice(0, 2)).toEqual(['a1', 'b1']);
  expect(order.filter((name) => name.startsWith('a'))).toEqual(['a1', 'a2', 'a3']);
  expect(order.indexOf('b2')).toBeLessThan(order.indexOf('a3'));
});

it('gives many calls of one a slice of each turn only, however many there are', async () => {
  const turns = new FairTurns(1);
  let done = 0;
  const all = Array.from({ length: 60 }, async () => {
    const turn = turns.enter('a');
    if (turn !== undefined) await turn;
    work(1.5);
    done += 1;
  });
  let isOver = false;
  void Promise.all(all).then(() => {
    isOver = true;
  });
  let most = 0;
  while (!isOver) {
    const before = done;
    await new Promise((resolve) => setImmediate(resolve));
    most = Math.max(most, done - before);
    if (!isOver) expect(turns.enter(`another ${done}`)).toBeUndefined();
  }
  expect(done).toBe(60);
  expect(most).toBeLessThanOrEqual(4);
});

it('has an end of calls that wait', () => {
  const turns = new FairTurns();
  for (let call = 0; call < 1_025; call += 1) void turns.enter('a');
  expect(() => turns.enter('a')).toThrow(/too many calls/);
  expect(turns.enter('b')).toBeUndefined();
});
