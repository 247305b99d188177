import { expect, it } from 'vitest';
import { createPartBoard } from '../../../src/agent/parts.ts';
import { toStatusLine } from '../../../src/agent/systemd/status-line.ts';
import { systemClock } from '../../../src/core/clock.ts';

it('is where the agent serves, and what is not as it should be', () => {
  const board = createPartBoard(systemClock);
  const line = (state = 'awake') => toStatusLine(board, ['fd:3', '127.0.0.1:4181'], state);
  board.part('store').set('ok');
  expect(line()).toBe('serving on fd:3, 127.0.0.1:4181');
  expect(line('fenced')).toBe('fenced, serving on fd:3, 127.0.0.1:4181');
  board.part('gateway').set('degraded', 'the platform is away');
  expect(line()).toBe('degraded (gateway: the platform is away), serving on fd:3, 127.0.0.1:4181');
  board.part('replication').set('starting');
  expect(line()).toMatch(/^not ready \(gateway: the platform is away; replication: starting\), serving/);
});

it('hears of every change of a part, and of nothing that stays', () => {
  let changes = 0;
  const board = createPartBoard(systemClock, () => {
    changes += 1;
  });
  board.part('store').set('ok');
  board.part('store').set('ok');
  board.part('store').set('degraded', 'x');
  board.part('store').set('degraded', 'y');
  expect(changes).toBe(3);
});
