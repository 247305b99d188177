// Which rules a new policy may hold, and what becomes of the others where they are stored already.
import { describe, expect, it } from 'vitest';
import { accessPolicyRequest } from '../../src/contract/access-policy.ts';
import { compilePolicy, decide } from '../../src/core/gateway/access-policy.ts';

const sprite = { name: 'dev-1', labels: [] };

describe('a rule of a new policy', () => {
  it.each([
    '/',
    '/*',
    '*',
    '/v1/models',
    '/v1/chat/*',
    '/v1/chat.*',
    '/v1/a%20b',
    '/v1/ops%2Fvault*',
    '/v1/50%25',
    '/v1/...x',
  ])('%s is taken', (rule) => {
    expect(accessPolicyRequest.safeParse({ blocked_endpoints: [rule] }).error).toBeUndefined();
    expect(accessPolicyRequest.safeParse({ allowed_endpoints: [rule] }).error).toBeUndefined();
  });

  it.each([
    ['v1/models', 'begins with "/"'],
    ['https://api.openai.com/v1/models', 'begins with "/"'],
    ['*x', 'begins with "/"'],
    ['/v1/*/models', 'at the end only'],
    ['/v1/models**', 'at the end only'],
    ['/v1/models?x=1', 'leave out the query'],
    ['/v1/models#x', 'leave out the query'],
    ['/v1/my models', 'percent-encoded'],
    ['/v1/caf\u00e9', 'percent-encoded'],
    ['/v1\\models', 'percent-encoded'],
    ['/v1/50%', 'write %25'],
    ['/v1/a%252Fb', 'encoded twice'],
    ['/v1/a%25%32fb', 'encoded twice'],
    ['/v1/../admin', 'dot segment'],
    ['/v1/.', 'dot segment'],
  ])('%s is refused, and the message says why', (rule, words) => {
    for (const name of ['allowed_endpoints', 'blocked_endpoints']) {
      const [issue] = accessPolicyRequest.safeParse({ [name]: ['/ok', rule] }).error?.issues ?? [];
      expect(issue?.path).toEqual([name, 1]);
      expect(issue?.message).toContain(words);
    }
  });
});

describe('a rule that is stored already', () => {
  it.each([
    ['/v1/*/admin', '/v1/a/admin', true],
    ['/v1/*/admin', '/v1/chat', true],
    ['/v1/*/admin', '/v2/chat', false],
    ['/v1%2F.*/x', '/v1/.git', true],
    ['v1/*/admin', '/v1/x', true],
    ['*x', '/anything', true],
    ['/v1/\u4e2d%41*', '/v1/%E4%B8%ADAb', true],
    ['/\u03a3*', '/%CE%A3%CE%91', true],
  ])('blocks at least what it seems to: %s and %s: %s', (rule, path, isBlocked) => {
    const decision = decide(compilePolicy({ allow_all: true, blocked_endpoints: [rule] }), sprite, path);
    expect(decision.type).toBe(isBlocked ? 'deny' : 'allow');
  });

  it.each([
    ['/v1/*/models', '/v1/any/models'],
    ['v1/models', '/v1/models'],
    ['/v1/models**', '/v1/models'],
  ])('allows nothing but what it says: %s and %s', (rule, path) => {
    const decision = decide(compilePolicy({ allow_all: true, allowed_endpoints: [rule] }), sprite, path);
    expect(decision).toMatchObject({ type: 'deny', code: 'endpoint_not_allowed' });
  });
});
