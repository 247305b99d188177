// What the agent's own database keeps over a restart: the incarnation of the machine with its generation, and the spread that was
// asked for.
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createPartBoard } from '../../src/agent/parts.ts';
import { createIncarnation } from '../../src/agent/resume/incarnation.ts';
import { openStore } from '../../src/agent/store.ts';
import { systemClock } from '../../src/core/clock.ts';
import { tempDir } from '../support/temp-dir.ts';

const open = (dir: string, board = createPartBoard(systemClock)) => openStore(dir, board.part('store'));

test('a first start makes an incarnation, a restart keeps it, a resume renews it with its generation', () => {
  const dir = tempDir();
  const first = open(dir);
  const incarnation = createIncarnation(first.incarnation);
  expect(incarnation.generation).toBe(0);
  expect(incarnation.incarnation).toMatch(/^[0-9a-f]{32}$/);
  incarnation.keep();
  first[Symbol.dispose]();

  const second = open(dir);
  const again = createIncarnation(second.incarnation);
  again.keep();
  expect(again.headers).toEqual(incarnation.headers);
  again.renew();
  again.save();
  expect(again.generation).toBe(1);
  expect(again.incarnation).not.toBe(incarnation.incarnation);
  second[Symbol.dispose]();

  const third = open(dir);
  expect(createIncarnation(third.incarnation).headers).toEqual(again.headers);
  third[Symbol.dispose]();
});

test('an incarnation that was not kept is another one after a restart', () => {
  const dir = tempDir();
  const first = open(dir);
  const before = createIncarnation(first.incarnation).incarnation;
  first[Symbol.dispose]();
  const second = open(dir);
  expect(createIncarnation(second.incarnation).incarnation).not.toBe(before);
  second[Symbol.dispose]();
});

test('an incarnation that cannot be written is shown and does not stop a resume', () => {
  const board = createPartBoard(systemClock);
  const store = open(tempDir(), board);
  const incarnation = createIncarnation(store.incarnation);
  store.db.pragma('query_only = ON');
  incarnation.renew();
  incarnation.save();
  expect(incarnation.generation).toBe(1);
  expect(board.statuses().store).toMatchObject({ state: 'degraded', reason: expect.stringContaining('agent.db') });
  store[Symbol.dispose]();
});

test('the spread is 0 until it is said, and then kept', () => {
  const dir = join(tempDir(), 'state');
  const first = open(dir);
  expect(first.reconnectSpread.load()).toBe(0);
  first.reconnectSpread.save(10_000);
  first[Symbol.dispose]();
  const second = open(dir);
  expect(second.reconnectSpread.load()).toBe(10_000);
  second[Symbol.dispose]();
});
