// How many event streams one token may have open at the platform.
import { expect, test } from 'vitest';
import { openTestPlatform } from '../support/open-platform.ts';
import { openRaw } from '../support/raw-http.ts';

test('a token has 64 event streams at most, and another token has its own', async () => {
  const platform = await openTestPlatform();
  const { machine_id } = (await platform.call({ method: 'POST', path: '/v1/sprites', body: { name: 'dev-1' } })).json;
  const other = await platform.admin.createToken({ organization: 'acme' });
  const port = Number(new URL(platform.url).port);
  const open = async (token = platform.token) => {
    const head = `GET /v1/apps/acme/machines/${machine_id}/log?follow=true HTTP/1.1\r\nHost: a\r\n`;
    const stream = openRaw(port, `${head}Authorization: Bearer ${token.reveal()}\r\n\r\n`);
    return (await stream.until(/\r\n\r\n/)).slice(9, 12);
  };
  const statuses = await Promise.all(Array.from({ length: 64 }, () => open()));
  expect(new Set(statuses)).toEqual(new Set(['200']));
  expect(await open()).toBe('429');
  expect(await open(other)).toBe('200');
});
