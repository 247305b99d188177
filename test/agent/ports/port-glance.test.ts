// What a glance at the ports looks at, and how often.
import { expect, it } from 'vitest';
import { createPortGlance } from '../../../src/agent/ports/port-glance.ts';

function openGlance() {
  const kernel = { counters: '3 0' as string | undefined, closed: false, descriptorLooks: 0 };
  const glance = createPortGlance({
    counters: () => kernel.counters,
    letGo() {
      kernel.descriptorLooks += 1;
      return kernel.closed;
    },
  });
  glance.note();
  return { kernel, glance };
}

it('sees other counters at once, until they are noted', () => {
  const { kernel, glance } = openGlance();
  expect([glance.look(), glance.lookInTurns(), glance.lookInTurns()]).toEqual([false, false, false]);
  kernel.counters = '4 0';
  expect([glance.look(), glance.lookInTurns(), glance.lookInTurns()]).toEqual([true, true, true]);
  glance.note();
  expect([glance.look(), glance.lookInTurns(), glance.lookInTurns()]).toEqual([false, false, false]);
});

it('sees a listener that was closed in the second turn at the latest, and looks for it in every other one', () => {
  const { kernel, glance } = openGlance();
  kernel.closed = true;
  expect(glance.look()).toBe(true);
  const turns = Array.from({ length: 10 }, () => glance.lookInTurns());
  expect(turns.filter((changed) => changed)).toHaveLength(5);
  expect(turns.slice(0, 2)).toContain(true);
  expect(kernel.descriptorLooks).toBe(6);
});

it('says whether there are counters', () => {
  const { kernel, glance } = openGlance();
  expect(glance.hasCounters).toBe(true);
  kernel.counters = undefined;
  expect(glance.hasCounters).toBe(true);
  glance.note();
  expect(glance.hasCounters).toBe(false);
});
