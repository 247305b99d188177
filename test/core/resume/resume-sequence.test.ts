import { expect, test } from 'vitest';
import {
  advance,
  idleSequence,
  type SequenceEvent,
  type SequenceState,
} from '../../../src/core/resume/resume-sequence.ts';

const plan = { steps: 3, gated: 2 };
const report = { name: 'step', ms: 1, ok: true };
const failed = { name: 'step', ms: 1, ok: false, reason: 'no' };
const ended = (attempt: number, what = report): SequenceEvent => ({ type: 'step_ended', attempt, report: what });
const begin: SequenceEvent = { type: 'begin' };

function walk(...events: readonly SequenceEvent[]): SequenceState {
  return events.reduce((state, event) => advance(state, event, plan), idleSequence);
}

const rows: readonly (readonly [string, readonly SequenceEvent[], SequenceState['type'], number, number])[] = [
  ['nothing happened', [], 'idle', 0, 0],
  ['it began', [begin], 'closed', 1, 0],
  ['a gated step ended', [begin, ended(1)], 'closed', 1, 1],
  ['the last gated step ended', [begin, ended(1), ended(1)], 'open', 1, 2],
  ['a gated step failed', [begin, ended(1), ended(1, failed)], 'open', 1, 2],
  ['every step ended', [begin, ended(1), ended(1), ended(1)], 'idle', 1, 3],
  ['it began again while closed', [begin, ended(1), begin], 'closed', 2, 0],
  ['it began again while open', [begin, ended(1), ended(1), begin], 'closed', 2, 0],
  ['it began again after its end', [begin, ended(1), ended(1), ended(1), begin], 'closed', 2, 0],
  ['a step of a former attempt ended', [begin, ended(1), begin, ended(1)], 'closed', 2, 0],
  ['a step ended when nothing runs', [ended(0)], 'idle', 0, 0],
  ['a step ended once too often', [begin, ended(1), ended(1), ended(1), ended(1)], 'idle', 1, 3],
];

for (const [name, events, type, attempt, reports] of rows) {
  test(`when ${name} it is ${type}`, () => {
    const state = walk(...events);
    expect([state.type, state.attempt, state.reports.length]).toEqual([type, attempt, reports]);
  });
}

test('a recovery without steps is over at once', () => {
  expect(advance(idleSequence, begin, { steps: 0, gated: 0 }).type).toBe('idle');
});
