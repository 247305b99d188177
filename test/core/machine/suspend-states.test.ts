import { describe, expect, test } from 'vitest';
import {
  type SuspendEvent,
  type SuspendState,
  suspendTable,
  transition,
} from '../../../src/core/machine/suspend-states.ts';

/** Every change there is; a pair that is not listed leaves the state as it is. */
const changes: readonly (readonly [SuspendState, SuspendEvent, SuspendState])[] = [
  ['awake', 'ask', 'preparing'],
  ['awake', 'resume', 'resuming'],
  ['preparing', 'refused', 'awake'],
  ['preparing', 'accepted', 'fenced'],
  ['preparing', 'resume', 'resuming'],
  ['fenced', 'resume', 'resuming'],
  ['fenced', 'interrupted', 'awake'],
  ['resuming', 'done', 'awake'],
];
const states: readonly SuspendState[] = ['awake', 'preparing', 'fenced', 'resuming'];
const events: readonly SuspendEvent[] = ['ask', 'refused', 'accepted', 'resume', 'interrupted', 'done'];

function walk(...path: readonly SuspendEvent[]): SuspendState {
  return path.reduce(transition, 'awake');
}

describe('the suspend table', () => {
  for (const state of states) {
    for (const event of events) {
      const to = changes.find((change) => change[0] === state && change[1] === event)?.[2] ?? state;
      test(`${state} on ${event} is ${to}`, () => expect(transition(state, event)).toBe(to));
    }
  }

  test('lists exactly these states and events', () => {
    expect(Object.keys(suspendTable).sort()).toEqual([...states].sort());
    for (const row of Object.values(suspendTable)) expect(Object.keys(row).sort()).toEqual([...events].sort());
  });
});

describe('a suspend', () => {
  test('goes all the way round', () => expect(walk('ask', 'accepted', 'resume', 'done')).toBe('awake'));
  test('is undone when refused', () => expect(walk('ask', 'refused')).toBe('awake'));
  test('is undone when nothing happens', () => expect(walk('ask', 'accepted', 'interrupted')).toBe('awake'));
  test('whose answer comes after the resume stays resumed', () => {
    expect(walk('ask', 'resume', 'accepted', 'done')).toBe('awake');
    expect(walk('ask', 'resume', 'done', 'accepted')).toBe('awake');
  });
  test('that is resumed twice is awake after the one end of recovery', () => {
    expect(walk('ask', 'accepted', 'resume', 'resume', 'done')).toBe('awake');
  });
});
