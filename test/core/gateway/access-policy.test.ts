import { describe, expect, it } from 'vitest';
import { compilePolicy, decide } from '../../../src/core/gateway/access-policy.ts';
import { parseGatewayTarget } from '../../../src/core/gateway/gateway-target.ts';
import { corpusConnectors, type GatewayCase, gatewayCases } from '../../support/gateway-corpus.ts';

function judge(entry: GatewayCase): 'allow' | 'deny' | 'reject' {
  const hasHost = entry.headers.some(([name]) => name.toLowerCase() === 'host');
  const rawHeaders = [...(hasHost ? [] : ['Host', 'remora']), ...entry.headers.flat()];
  const target = parseGatewayTarget(entry.method, entry.target, rawHeaders);
  if (target.type === 'reject') return 'reject';
  if (corpusConnectors.get(target.connector_id) !== target.provider) return 'reject';
  return decide(compilePolicy(entry.policy), entry.sprite, target.path).type;
}

describe('the recorded gateway cases', () => {
  it('are all there', () => expect(gatewayCases.length).toBeGreaterThanOrEqual(98));
  it.each(gatewayCases.map((entry) => [entry.id, entry.why, entry] as const))('%s: %s', (_id, _why, entry) => {
    expect(judge(entry)).toBe(entry.expect);
  });
});

const dev = { name: 'dev-1', labels: ['a', 'b'] };

describe('the grant', () => {
  it.each([
    ['nothing', undefined, 'connection_denied'],
    ['null', null, 'connection_denied'],
    ['text', 'allow_all', 'connection_denied'],
    ['an empty policy', {}, 'connection_denied'],
    ['a list', [], 'connection_denied'],
    ['allow_all', { allow_all: true }, 'allow'],
    ['allow_all as a number', { allow_all: 1 }, 'connection_denied'],
    ['allow_all inherited', Object.create({ allow_all: true }), 'connection_denied'],
    ['one label held', { sprite_labels: ['a'] }, 'allow'],
    ['all labels held', { sprite_labels: ['b', 'a'] }, 'allow'],
    ['one label missing', { sprite_labels: ['a', 'c'] }, 'connection_denied'],
    ['labels that are no list', { sprite_labels: 'a' }, 'connection_denied'],
    ['labels that are no text', { sprite_labels: [1] }, 'connection_denied'],
    ['prefix and labels', { name_prefix: 'dev-', sprite_labels: ['a'] }, 'allow'],
    ['prefix without labels', { name_prefix: 'dev-', sprite_labels: ['z'] }, 'connection_denied'],
    ['empty prefix with labels', { name_prefix: '', sprite_labels: ['a'] }, 'allow'],
    ['a prefix that is no text', { allow_all: true, name_prefix: 7 }, 'connection_denied'],
    ['block rules that are no list', { allow_all: true, blocked_endpoints: '/v1/admin' }, 'connection_denied'],
    ['a block rule that is no text', { allow_all: true, blocked_endpoints: [null] }, 'connection_denied'],
    ['allow rules that are no list', { allow_all: true, allowed_endpoints: null }, 'connection_denied'],
    ['an empty allow list', { allow_all: true, allowed_endpoints: [] }, 'endpoint_not_allowed'],
    ['an empty block list', { allow_all: true, blocked_endpoints: [] }, 'allow'],
  ])('%s', (_name, policy, outcome) => {
    const decision = decide(compilePolicy(policy), dev, '/v1/x');
    expect(decision.type === 'allow' ? 'allow' : decision.code).toBe(outcome);
  });

  it('is refused without an identity, whatever the policy says', () => {
    const decision = decide(compilePolicy({ allow_all: true }), null, '/v1/x');
    expect(decision).toMatchObject({ type: 'deny', code: 'unauthorized' });
  });
});

describe('block rules', () => {
  it.each([
    ['/v1/admin', '/v1/ADMIN', true],
    ['/V1/Admin', '/v1/admin', true],
    ['/v1/admin*', '/v1//admin/users', true],
    ['/v1/admin*', '/v1/x/%2fadmin', false],
    ['/v1/admin*', '/v1/%EF%BD%81dmin', true],
    ['/v1/admin*', '/v1;a=b/admin', true],
    ['/v1/admin*', '/v1%20/admin', true],
    ['/v1/admin*', '/v1/%25%36%31dmin', true],
    ['/v1/admin', '/v1/admin;x/', true],
    ['/v1/admin', '/v1/admin%20/x', true],
    ['/v1/admin', '/v1/administrators', false],
    ['/v1/admin', '/v1/admin/users', false],
    ['v1/admin*', '/v1/admin', true],
    ['/v1/admin**', '/v1/admin/x', true],
    ['*', '/anything', true],
    ['/v1/a%20b', '/v1/a%20b', true],
    ['/v1/a%20b', '/v1/a', false],
    ['/x?y', '/x', false],
    ['/v1/admin', '/v1/adm%C2%ADin', true],
    ['/v1/admin', '/v1/admin%E2%80%8B', true],
    ['/v1/admin', '/v1%EF%BB%BF/admin', true],
    ['/v1/admin', '/v1/admin%E2%81%A0/', true],
    ['/v1/admin', '/v1/admin.', true],
    ['/v1/admin', '/v1/admin./', true],
    ['/v1/admin', '/v1/admin.%20.', true],
    ['/v1/admin', '/v1%2e/admin', true],
    ['/v1/admin', '/v1/admin.;x', true],
    ['/v1/admin', '/v1/admin.x', false],
    ['/v1/admin', '/v1/.admin', false],
    ['/v1/chat.*', '/v1/chatter', false],
  ])('%s against %s: %s', (rule, path, isBlocked) => {
    const decision = decide(compilePolicy({ allow_all: true, blocked_endpoints: [rule] }), dev, path);
    expect(decision.type).toBe(isBlocked ? 'deny' : 'allow');
  });
});

describe('allow rules', () => {
  it.each([
    [['/v1/models'], '/v1/models', true],
    [['/v1/models'], '/v1/models?x=/y', true],
    [['/v1/models'], '/v1/Models', false],
    [['/v1/models'], '/v1/model%73', false],
    [['/v1/chat.*'], '/v1/chat.post', true],
    [['/v1/chat.*'], '/v1/chatXpost', false],
    [['/v1/chat*'], '/v1/chat%2F..x', true],
    [['/v1/ops%2Fvault/*'], '/v1/ops%2Fvault/x', true],
    [['/v1/ops%2Fvault/*'], '/v1/ops/vault/x', false],
    [['/v1/ops%2Fvault'], '/v1/ops%2Fvault/x', false],
    [['/v1/*/models'], '/v1/any/models', false],
    [['v1/models'], '/v1/models', false],
    [['*'], '/anything', true],
    [['/a/*', '/b/*'], '/b/c', true],
    [['/v1/%5B*'], '/v1/%5Bx', true],
    [['/v1/a%25*'], '/v1/a%25', true],
    [['/v1/a%25*'], '/v1/a%252Fb', false],
    [['/v1/a;b/*'], '/v1/a;b/c', false],
  ])('%j against %s: %s', (rules, path, isAllowed) => {
    const decision = decide(compilePolicy({ allow_all: true, allowed_endpoints: rules }), dev, path);
    expect(decision.type).toBe(isAllowed ? 'allow' : 'deny');
  });
});

describe('the decision', () => {
  const policy = compilePolicy({
    allow_all: true,
    allowed_endpoints: ['/v1/chat/*', '/v1/models'],
    blocked_endpoints: ['/v1/admin*'],
  });

  it('names the rule and the reading that blocked', () => {
    expect(decide(policy, dev, '/v1%2f%61dmin/x')).toEqual({
      type: 'deny',
      code: 'endpoint_blocked',
      message: 'endpoint is blocked by policy',
      rule: '/v1/admin*',
      reading: '/v1/admin/x',
    });
  });

  it('names the rule that allowed', () => {
    expect(decide(policy, dev, '/v1/models')).toEqual({ type: 'allow', rule: '/v1/models', reading: '/v1/models' });
  });

  it('names the reading that was not allowed', () => {
    expect(decide(policy, dev, '/v1/models%3Fx')).toMatchObject({
      code: 'endpoint_not_allowed',
      reading: '/v1/models%3Fx',
    });
  });

  it('denies a path that should never have come this far', () => {
    expect(decide(compilePolicy({ allow_all: true }), dev, '/v1/%2e%2e/x').type).toBe('deny');
  });
});
