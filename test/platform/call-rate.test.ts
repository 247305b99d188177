// A token that is good but calls too often costs the database nothing.
import { expect, test } from 'vitest';
import { z } from 'zod';
import { defineOperation } from '../../src/contract/operation.ts';
import { systemClock } from '../../src/core/clock.ts';
import { createAuthenticate } from '../../src/platform/tokens/authenticate.ts';
import type { Caller } from '../../src/platform/tokens/caller-store.ts';
import { ask } from '../support/ask.ts';
import { serveEdge } from '../support/serve-edge.ts';

const caller: Caller = {
  type: 'organization',
  organization: {
    id: 'org_1',
    slug: 'acme',
    display_name: null,
    running_limit: null,
    warm_limit: null,
    creation_limit: null,
  },
  token: { id: 'tok_1', access: 'full', user_id: null, machine_id: null, expires_at: null },
};

test('its calls beyond the rate are refused before the database is asked', async () => {
  const asked: string[] = [];
  const slow = { burst: 3, perSecond: 0.001 };
  const authenticate = createAuthenticate({
    callers: {
      async find(text) {
        asked.push(text);
        return text.startsWith('good') ? caller : undefined;
      },
      again: async () => caller,
      look: () => undefined,
      known: () => undefined,
    },
    fencing: { admit: async () => undefined, report: async () => ({}) },
    clock: systemClock,
    rates: { others: slow, gateway: slow },
  });
  const plain = defineOperation({
    method: 'GET',
    path: '/v1/plain',
    summary: 'of the test',
    source: 'of the test',
    tag: 'status',
    servedAt: ['tcp'],
    access: 'organization',
    answer: { kind: 'json', status: 200, schema: z.object({}) },
    errors: [],
  });
  const { path } = await serveEdge(
    { plain },
    { plain: () => ({}) },
    { authenticate: async (request, operation) => void (await authenticate(request, operation)) },
  );
  const call = (token: string) => ask(path, { target: '/v1/plain', headers: { authorization: `Bearer ${token}` } });
  const statuses: number[] = [];
  for (let round = 0; round < 3; round += 1) statuses.push((await call('good-1')).status);
  expect(statuses).toEqual([200, 200, 200]);
  const burst = await Promise.all(Array.from({ length: 40 }, () => call('good-1')));
  expect(new Set(burst.map(({ status }) => status))).toEqual(new Set([429]));
  expect(Number(burst[0]?.headers['retry-after'])).toBeGreaterThan(0);
  expect(asked).toEqual(['good-1', 'good-1', 'good-1']);
  expect((await call('good-2')).status).toBe(200);
});
