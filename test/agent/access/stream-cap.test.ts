// How many event streams one capability token may have open at the loopback listener.
import { expect, it } from 'vitest';
import { openModelStack } from '../../support/model-stack.ts';
import { openRaw } from '../../support/raw-http.ts';

it('a token has 64 event streams at most, and another token has its own', async () => {
  const stack = await openModelStack();
  const [token, other] = [await stack.createToken(), await stack.createToken()];
  const port = Number(new URL(stack.origin).port);
  const open = async (bearer: string) => {
    const head = `GET /v1/events HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n`;
    const stream = openRaw(port, `${head}Authorization: Bearer ${bearer}\r\n\r\n`);
    return (await stream.until(/\r\n\r\n/)).slice(9, 12);
  };
  const statuses = await Promise.all(Array.from({ length: 64 }, () => open(token)));
  expect(new Set(statuses)).toEqual(new Set(['200']));
  expect(await open(token)).toBe('429');
  expect(await open(other)).toBe('200');
});
