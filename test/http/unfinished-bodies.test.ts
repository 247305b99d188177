// A request whose body does not come: it is answered all the same, and keeps no connection.
import { expect, it } from 'vitest';
import { z } from 'zod';
import { defineOperation } from '../../src/contract/operation.ts';
import { BODY_IDLE_MS } from '../../src/http/caller-body.ts';
import { openRaw } from '../support/raw-http.ts';
import { serveEdge } from '../support/serve-edge.ts';

it('that needs none keeps no connection for ever', async () => {
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

it('that needs it is answered with 408 at the deadline, and the connection ends', async () => {
  const write = defineOperation({
    method: 'POST',
    path: '/v1/write',
    summary: 'of the test',
    source: 'of the test',
    tag: 'status',
    body: z.object({ name: z.string() }),
    answer: { kind: 'json', status: 200, schema: z.object({}) },
    errors: [],
  });
  const names: string[] = [];
  const { path } = await serveEdge(
    { write },
    {
      write({ body }) {
        names.push(body.name);
        return {};
      },
    },
    { bodyDeadline_ms: 300 },
  );
  const head = 'POST /v1/write HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n';
  for (const rest of ['Content-Length: 14\r\n\r\n{"name"', 'Transfer-Encoding: chunked\r\n\r\n7\r\n{"name"\r\n']) {
    const answer = await openRaw(path, head + rest).ended;
    expect(answer).toMatch(/^HTTP\/1.1 408 .*\r\nconnection: close\r\n.*"error":"timeout".*300 ms/is);
  }
  expect(names).toEqual([]);
});

it('of a gateway call may be silent for a minute', () => {
  expect(BODY_IDLE_MS).toBe(60_000);
});
