// A request that was answered before its body had come.
import { expect, it } from 'vitest';
import { z } from 'zod';
import { defineOperation } from '../../src/contract/operation.ts';
import { openRaw } from '../support/raw-http.ts';
import { serveEdge } from '../support/serve-edge.ts';

it('keeps no connection for ever', async () => {
  const plain = defineOperation({
    method: 'GET',
    path: '/v1/plain',
    summary: 'of the test',
    source: 'of the test',
    tag: 'status',
    answer: { kind: 'json', status: 200, schema: z.object({}) },
    errors: [],
  });
  const { path } = await serveEdge({ plain }, { plain: () => ({}) });
  const caller = openRaw(path, 'GET /v1/plain HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\na');
  await caller.until(/\{\}\n$/);
  expect(await caller.ended).toMatch(/^HTTP\/1.1 200 /);
});
