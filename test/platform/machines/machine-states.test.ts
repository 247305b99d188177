// The table of states: each row by its name, that it is total, and the rows of Suspend and Replication word by word.
import { describe, expect, test } from 'vitest';
import { machineStates } from '../../../src/contract/machine-events.ts';
import {
  conditions,
  type Facts,
  findTransition,
  transitions,
  triggers,
} from '../../../src/platform/machines/moves/machine-states.ts';

const flags = [false, true];

const everyFact: readonly Facts[] = (['running', 'suspended', 'stopped'] as const).flatMap((driver) =>
  flags.flatMap((isDiscarded) =>
    flags.flatMap((isEligible) =>
      flags.flatMap((isRequested) =>
        flags.map((isExternal) => ({ driver, isDiscarded, isEligible, isRequested, isExternal })),
      ),
    ),
  ),
);

const idle: Facts = { driver: 'stopped', isDiscarded: false, isEligible: true, isRequested: false, isExternal: false };

test('every state has exactly one row for every trigger, whatever the facts', () => {
  const wrong = machineStates.flatMap((from) =>
    triggers.flatMap((trigger) =>
      everyFact.flatMap((facts) => {
        const rows = transitions.filter(
          (row) => row.from === from && row.trigger === trigger && conditions[row.condition](facts),
        );
        return rows.length === 1 ? [] : [`${from} ${trigger} ${JSON.stringify(facts)}: ${rows.length}`];
      }),
    ),
  );
  expect(wrong).toEqual([]);
});

describe('each row', () => {
  test.each(
    transitions.map((row) => [`${row.from}, ${row.trigger}, ${row.condition}: ${row.to ?? 'refused'}`, row] as const),
  )('%s', (_, row) => {
    const facts = everyFact.filter((each) => conditions[row.condition](each));
    expect(facts.length).toBeGreaterThan(0);
    for (const each of facts) expect(findTransition(row.from, row.trigger, each)).toEqual(row);
    // What is refused has no effect, and what has no effect on a machine that is gone is refused.
    if (row.to === undefined) expect(row.also).toEqual([]);
    if (row.from === 'destroyed') expect(row.to).toBeUndefined();
  });
});

describe('Suspend and Replication, States and transitions', () => {
  test('running, suspend operation, machine is eligible: suspending, then suspended', () => {
    expect(findTransition('running', 'suspend', { ...idle, driver: 'running' })).toMatchObject({
      to: 'suspending',
      also: ['freeze'],
    });
    expect(findTransition('suspending', 'frozen', { ...idle, driver: 'suspended' }).to).toBe('suspended');
  });

  test('suspended, start operation, snapshot still valid: starting (resume)', () => {
    const facts: Facts = { ...idle, driver: 'suspended' };
    expect(findTransition('suspended', 'start', facts)).toMatchObject({ to: 'starting', also: ['resume'] });
    expect(findTransition('starting', 'started', facts).to).toBe('running');
  });

  test('suspended, stop operation then start operation: stopped, then starting (cold start), and the snapshot is discarded', () => {
    const stop = findTransition('suspended', 'stop', { ...idle, driver: 'suspended' });
    expect(stop.to).toBe('stopped');
    expect(stop.also).toContain('drop the snapshot');
    expect(findTransition('stopped', 'start', idle)).toMatchObject({ to: 'starting', also: ['boot'] });
  });

  test.each([
    ['thrown away while it is there', { ...idle, driver: 'suspended', isDiscarded: true }],
    ['gone', idle],
  ] as const)('suspended, start operation, snapshot discarded (%s): starting (cold start)', (_, facts) => {
    expect(findTransition('suspended', 'start', facts)).toMatchObject({ to: 'starting', also: ['boot'] });
  });
});
