import { expect, test } from 'vitest';
import { withDeadline } from '../../src/core/with-deadline.ts';

const never = new Promise<never>(() => undefined);

test('what settles in time settles as it would alone', async () => {
  await expect(withDeadline(60_000, Promise.resolve(7))).resolves.toBe(7);
  await expect(withDeadline(60_000, Promise.reject(new Error('no')))).rejects.toThrow('no');
});

test('what is late rejects, with the error that the caller makes', async () => {
  await expect(withDeadline(1, never)).rejects.toThrow('took longer than 1 ms');
  await expect(withDeadline(1, never, () => new RangeError('silent'))).rejects.toBeInstanceOf(RangeError);
});

test('a rejection after the deadline is not left unhandled', async () => {
  const unhandled: unknown[] = [];
  const onUnhandled = (error: unknown) => unhandled.push(error);
  process.on('unhandledRejection', onUnhandled);
  const slow = Promise.withResolvers<void>();
  await expect(withDeadline(1, slow.promise)).rejects.toThrow();
  slow.reject(new Error('too late'));
  await new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
  process.off('unhandledRejection', onUnhandled);
  expect(unhandled).toEqual([]);
});
