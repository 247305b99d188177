// Which path the lines of a connector show: one that works when it is pasted.
import { expect, it } from 'vitest';
import { toConnectorList } from '../../../src/agent/gateway/connector-list.ts';
import { toSnapshot } from '../../../src/agent/gateway/policies/policy-snapshot.ts';
import type { AccessPolicy } from '../../../src/contract/access-policy.ts';

const address = 'https://p.test/v1/gateway/github/c';

function sampleOf(policy: Partial<AccessPolicy>, usage_snippet?: string): string | undefined {
  const described = { id: 'c', provider: 'github', display_name: 'GitHub', gateway_base_url: address };
  const snapshot = toSnapshot({
    sprite: { name: 'dev-1', labels: [], url: 'https://dev-1.test' },
    connections: [
      { id: 'c', provider: 'github', provider_account_id: 'a', access_policy: { allow_all: true, ...policy } },
    ],
    denied: [],
    list: {
      connections: [{ ...described, ...(usage_snippet === undefined ? {} : { usage_snippet }) }],
      available: [],
    },
  });
  const { connections } = toConnectorList(snapshot, { socket: '/s', tcp: undefined });
  return /\/v1\/gateway\/github\/c([^']*)'$/.exec(connections[0]?.usage_snippet ?? '')?.[1];
}

it.each<[string, Partial<AccessPolicy>, string | undefined, string]>([
  ['the exact path that the policy names', { allowed_endpoints: ['/a/*', '/b'] }, `curl ${address}/user`, '/b'],
  ['the beginning that it names', { allowed_endpoints: ['/a/*'] }, `curl ${address}/user`, '/a/'],
  [
    'not one that it blocks as well',
    { allowed_endpoints: ['/b', '/a/*'], blocked_endpoints: ['/b'] },
    undefined,
    '/a/',
  ],
  ['that of the platform’s line', {}, `curl ${address}/user`, '/user'],
  ['that of the platform’s line with words behind it', {}, `curl '${address}/user' -H 'a: b'`, '/user'],
  [
    'not that of the platform’s line when it is blocked',
    { blocked_endpoints: ['/user'] },
    `curl ${address}/user`,
    '/v1/models',
  ],
  ['a common one', {}, 'curl https://elsewhere.test/user', '/v1/models'],
  ['a common one without a line', {}, undefined, '/v1/models'],
])('it is %s', (_what, policy, snippet, expected) => expect(sampleOf(policy, snippet)).toBe(expected));
