// The table of intents: each row by its name, that it is total, and what it must never do.
import { describe, expect, test } from 'vitest';
import { machineStates } from '../../../src/contract/machine-events.ts';
import {
  applies,
  type Found,
  intents,
  planReconciliation,
  type RecordedMachine,
} from '../../../src/platform/machines/moves/machine-intents.ts';

const found: readonly Found[] = ['running', 'suspended', 'over', 'lost', 'none'];
const wanted = ['running', 'suspended', 'stopped', 'destroyed'] as const;
const policies = ['always', 'on-failure', 'no'] as const;

const every: readonly (readonly [RecordedMachine, Found])[] = machineStates.flatMap((state) =>
  wanted.flatMap((each) =>
    policies.flatMap((policy) => found.map((one) => [{ state, wanted: each, policy }, one] as const)),
  ),
);

test('every machine has exactly one row, whatever was asked for, recorded and found', () => {
  const wrong = every.filter(([recorded, one]) => intents.filter((each) => applies(each, recorded, one)).length !== 1);
  expect(wrong).toEqual([]);
});

describe('each row', () => {
  test.each(
    intents.map(
      (row) =>
        [
          `${row.wanted.join('|')} was asked for, ${row.recorded.join('|')} recorded, ${row.found.join('|')} found, ${row.condition}: ${row.to}, then ${row.next}`,
          row,
        ] as const,
    ),
  )('%s', (_, row) => {
    const machines = every.filter(([recorded, one]) => applies(row, recorded, one));
    expect(machines.length).toBeGreaterThan(0);
    for (const [recorded, one] of machines) {
      const plan = planReconciliation(recorded, one);
      expect(plan).toMatchObject({ next: row.next, state: row.to === '=' ? recorded.state : row.to });
    }
  });
});

test('nothing is booted that is to be stopped, destroyed or suspended, and nothing while an instance is there', () => {
  for (const [recorded, one] of every) {
    if (planReconciliation(recorded, one).next !== 'boot') continue;
    expect(['running', 'suspended']).toContain(recorded.wanted);
    expect(recorded.state).not.toBe('suspended');
    expect(['over', 'lost', 'none']).toContain(one);
  }
});

test('what was asked to stop or to be destroyed is ended wherever it is found', () => {
  for (const [recorded, one] of every) {
    const { next } = planReconciliation(recorded, one);
    if (recorded.wanted === 'destroyed') expect(next).toBe('destroy');
    if (recorded.wanted === 'stopped') expect(next).toBe(one === 'running' || one === 'suspended' ? 'end' : 'nothing');
  }
});

test('a machine that runs is never recorded as one that does not, unless it is to end', () => {
  for (const [recorded, one] of every) {
    if (one !== 'running' || recorded.wanted === 'stopped' || recorded.wanted === 'destroyed') continue;
    expect(['running', 'starting']).toContain(planReconciliation(recorded, one).state);
  }
});

test('a machine that ended with its host runs again whatever its policy says', () => {
  for (const policy of policies) {
    const recorded: RecordedMachine = { state: 'running', wanted: 'running', policy };
    expect(planReconciliation(recorded, 'lost')).toEqual({ state: 'stopped', isOver: true, next: 'boot' });
  }
});
