// What a real database node sent, and the policies that a safe gateway is measured by, are read by the contract.
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { accessPolicyRequest } from '../../src/contract/access-policy.ts';
import { replicationEvent } from '../../src/contract/replication.ts';

const corpus = new URL('../corpus/', import.meta.url);

test.each(['primary', 'replica'])('every line that a real %s sent comes out as it went in', (node) => {
  const lines = readFileSync(new URL(`litefs-events/${node}.ndjson`, corpus), 'utf8')
    .trimEnd()
    .split('\n');
  expect(lines.length).toBeGreaterThan(5);
  const events = lines.map((line) => replicationEvent.parse(JSON.parse(line)));
  expect(events[0]?.type).toBe('init');
  expect(events.map((event) => JSON.stringify(event))).toEqual(lines);
});

test('a policy of the gateway corpus is read, unless the corpus says that it is malformed', () => {
  const cases = z
    .array(z.looseObject({ id: z.string(), expect: z.string(), policy: z.unknown().optional() }))
    .parse(JSON.parse(readFileSync(new URL('gateway-policy.json', corpus), 'utf8')));
  const refused = cases.filter(({ policy }) => policy != null && !accessPolicyRequest.safeParse(policy).success);
  expect(refused.length).toBeLessThan(cases.length);
  expect(refused.map(({ policy }) => policy)).toEqual([expect.objectContaining({ allow_all: 'false' })]);
  expect(refused.map((each) => each.expect)).toEqual(['deny']);
});
