// What is in flight to a machine, and since when there is nothing.
import { expect, test } from 'vitest';
import { createMachineTraffic } from '../../../src/platform/proxy/machine-traffic.ts';

function openTraffic(kept?: number) {
  const clock = { now_ms: 0 };
  return { clock, traffic: createMachineTraffic(() => clock.now_ms, kept) };
}

test('a machine that nothing came for is quiet since no known time', () => {
  const { traffic } = openTraffic();
  expect(traffic.inFlight('m')).toBe(0);
  expect(traffic.quietSince_ms('m')).toBeUndefined();
  expect(traffic.total).toBe(0);
});

test('is in flight until the last one has ended, and quiet from then', () => {
  const { clock, traffic } = openTraffic();
  const one = traffic.begin('m');
  const other = traffic.begin('m');
  clock.now_ms = 10;
  one[Symbol.dispose]();
  expect([traffic.inFlight('m'), traffic.quietSince_ms('m')]).toEqual([1, undefined]);
  clock.now_ms = 20;
  other[Symbol.dispose]();
  expect([traffic.inFlight('m'), traffic.quietSince_ms('m')]).toEqual([0, 20]);
  clock.now_ms = 30;
  traffic.begin('m');
  expect([traffic.inFlight('m'), traffic.quietSince_ms('m'), traffic.total]).toEqual([1, undefined, 3]);
});

test('one that is ended twice counts once', () => {
  const { clock, traffic } = openTraffic();
  const one = traffic.begin('m');
  traffic.begin('m');
  one[Symbol.dispose]();
  clock.now_ms = 5;
  one[Symbol.dispose]();
  expect([traffic.inFlight('m'), traffic.quietSince_ms('m')]).toEqual([1, undefined]);
});

test('machines do not count for each other', () => {
  const { traffic } = openTraffic();
  traffic.begin('one');
  expect([traffic.inFlight('one'), traffic.inFlight('other')]).toEqual([1, 0]);
});

test('forgets the machines that have been quiet for longest, and none with traffic', () => {
  const { clock, traffic } = openTraffic(2);
  traffic.begin('open');
  for (const id of ['first', 'second', 'first', 'third']) {
    clock.now_ms += 1;
    traffic.begin(id)[Symbol.dispose]();
  }
  expect(['second', 'first', 'third'].map((id) => traffic.quietSince_ms(id))).toEqual([undefined, 3, 4]);
  expect(traffic.inFlight('open')).toBe(1);
});
