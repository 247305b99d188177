// The connections to the ports of a machine: which of them are given up for others.
import { expect, test } from 'vitest';
import { MachineCalls } from '../../../src/platform/proxy/machine-calls.ts';

test('the port that was not used for the longest time makes room for another one', () => {
  const calls = new MachineCalls(() => performance.now());
  const channel = { connect: () => Promise.reject(new Error('nothing is sent')) };
  const ports = Array.from({ length: 64 }, (_, index) => index + 1);
  const [first, second] = ports.map((port) => calls.dispatcher({ channel, port }));
  expect(calls.dispatcher({ channel, port: 1 })).toBe(first);
  calls.dispatcher({ channel, port: 65 });
  expect(calls.dispatcher({ channel, port: 1 })).toBe(first);
  expect(calls.dispatcher({ channel, port: 2 })).not.toBe(second);
});
