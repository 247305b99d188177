// Bodies that a provider is sent: within a cap and a time, from any sender.
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { readCapped } from '../../src/provider/received-request.ts';

async function* pieces(count: number, after: () => Promise<unknown> = async () => undefined) {
  for (let index = 0; index < count; index += 1) yield Buffer.from('abcd');
  await after();
}
const never = () => new Promise(() => undefined);

it('is read to its end', async () => {
  expect(Buffer.from(await readCapped(pieces(3))).toString()).toBe('abcdabcdabcd');
  expect(await readCapped(pieces(0))).toHaveLength(0);
});

it.each([
  ['longer than its cap', pieces(3, never), 'payload_too_large'],
  ['that stops coming', pieces(1, never), 'timeout'],
  ['that never comes', pieces(0, never), 'timeout'],
  ['that breaks off', pieces(1, () => Promise.reject(new Error('aborted'))), 'invalid_request'],
])('one %s is refused', async (_, body, code) => {
  const reading = readCapped(body, { cap_bytes: 8, limit_ms: 50 });
  const late = sleep(2_000).then(() => ({ code: 'nothing came of it' }));
  expect(await Promise.race([reading.catch((error) => error), late])).toMatchObject({ code });
});
