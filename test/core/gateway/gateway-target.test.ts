import { describe, expect, it } from 'vitest';
import { parseGatewayTarget } from '../../../src/core/gateway/gateway-target.ts';

const host = ['Host', 'remora'];

function pathOf(target: string): string {
  const parsed = parseGatewayTarget('GET', target, host);
  return parsed.type === 'target' ? `${parsed.provider} ${parsed.connector_id} ${parsed.path}` : parsed.code;
}

describe('a gateway target', () => {
  it.each([
    ['/v1/gateway/openai/c/v1/x?y=%zz&z=..%2f', 'openai c /v1/x?y=%zz&z=..%2f'],
    ['/v1/gateway/openai/c', 'openai c /'],
    ['/v1/gateway/openai/c?a=/b', 'openai c /?a=/b'],
    ['/v1/gateway/openai/c/?a', 'openai c /?a'],
    ['/v1/gateway/openai/%63/x', 'openai %63 /x'],
    ['/v1/gateway/openai', 'not_found'],
    ['/v1/gateway/openai/', 'not_found'],
    ['/v1/gateway//c/x', 'not_found'],
    ['/v1/gateway/openai?x=/c/y', 'not_found'],
    ['/v1/gateway/openai/?x=/c/y', 'not_found'],
    ['/v1/gatewayx/openai/c/y', 'not_found'],
    ['v1/gateway/openai/c/y', 'invalid_target'],
    ['/v1/gateway/openai/c/a\\b', 'invalid_target'],
    ['/v1/gateway/openai/c/a\u00e9', 'invalid_target'],
    ['/v1/gateway/openai/c//x', 'invalid_target'],
    ['/v1/gateway/openai/../c/x', 'invalid_target'],
    ['/v1/gateway/%2e%2e/c/x', 'invalid_target'],
    [`/v1/gateway/openai/c/${'a'.repeat(8_192)}`, 'target_too_long'],
  ])('%s', (target, outcome) => expect(pathOf(target)).toBe(outcome));
});

describe('a capability token in a path', () => {
  it.each(['/remora_cap_abc', '/botremora_cap_abc/getMe', '/remora%5Fcap_abc', '/REMORA%255FCAP_abc'])('%s', (path) => {
    expect(pathOf(`/v1/gateway/openai/c${path}`)).toBe('invalid_target');
    expect(pathOf(`/v1/gateway/openai${path}/x`)).toBe('invalid_target');
  });
  it('stops no call that has it in its query', () => {
    expect(pathOf('/v1/gateway/openai/c/x?key=remora_cap_abc')).toBe('openai c /x?key=remora_cap_abc');
  });
});

describe('a provider path', () => {
  it.each([
    ['/a/%2E%2E/b', false],
    ['/a/..%5Cb', false],
    ['/a/%2e%2e%5cb', false],
    ['/a/%2525252e', false],
    ['/a/%252561', true],
    ['/a/%25252561', false],
    ['/a/..%20/b', false],
    ['/a/%20../b', false],
    ['/a/..%20x/b', false],
    ['/a/..%3Fx', false],
    ['/a/..%23x', false],
    ['/a/.../b', true],
    ['/a/..b/c', true],
    ['/a/b../c', true],
    ['/a/.well-known', true],
    ['/a/%E2%80%A5/b', false],
    ['/a/%E2%80%A4/b', false],
    ['/a/%EF%BC%852e/b', false],
    ['/a/%25%EF%BC%92e/b', false],
    ['/a/%25%E2%80%8B2e/b', false],
    ['/a/.%C2%AD./b', false],
    ['/a/%E2%80%8B../b', false],
    ['/a/..%E2%81%A0', false],
    ['/a/b%C2%AD/c', true],
    [`/a/${'%CC%80'.repeat(31)}`, false],
    [`/a/${'%EF%B7%BA'.repeat(16)}`, false],
    [`/a/${'%EF%B7%BA'.repeat(15)}`, true],
    [`/a/${'%CC%80'.repeat(30)}`, true],
    ['/a/%c3%a9', true],
    ['/a/%e9', false],
    ['/a/%0d%0a', false],
    ['/a/%250d', false],
    ['/a/%1', false],
    ['/a/%zz', false],
    ['/a/%25zz', true],
    ['/a/%25u002e', false],
    ['/a/50%25fat', true],
    ['/a/%e0%80%ae/b', false],
    ['/a/%25c0%25ae/b', false],
  ])('%s may pass: %s', (path, passes) => {
    expect(parseGatewayTarget('GET', `/v1/gateway/openai/c${path}`, host).type).toBe(passes ? 'target' : 'reject');
  });
});

describe('methods and headers', () => {
  const target = '/v1/gateway/openai/c/x';
  it.each([
    ['GET', [], 'target'],
    ['OPTIONS', [], 'target'],
    ['TRACE', [], 'method_not_allowed'],
    ['CONNECT', [], 'method_not_allowed'],
    ['PROPFIND', [], 'method_not_allowed'],
    ['get', [], 'method_not_allowed'],
    ['GET', ['hOST', 'other'], 'invalid_request'],
    ['POST', ['content-length', '5'], 'target'],
    ['POST', ['content-length', '+5'], 'invalid_request'],
    ['POST', ['content-length', '5, 5'], 'invalid_request'],
    ['POST', ['content-length', '0x5'], 'invalid_request'],
    ['POST', ['content-length', '5', 'Content-Length', '5'], 'invalid_request'],
    ['POST', ['transfer-encoding', 'chunked'], 'target'],
    ['POST', ['transfer-encoding', 'Chunked'], 'target'],
    ['POST', ['transfer-encoding', 'xchunked'], 'invalid_request'],
    ['POST', ['transfer-encoding', 'gzip, chunked'], 'invalid_request'],
    ['POST', ['transfer-encoding', 'chunked', 'transfer-encoding', 'chunked'], 'invalid_request'],
    ['POST', ['transfer-encoding', 'chunked', 'content-length', '5'], 'invalid_request'],
    ['GET', ['fly_src', 'x'], 'forbidden'],
    ['GET', ['FLY-SRC-Signature', 'x'], 'forbidden'],
    ['GET', ['fly-client-ip', 'x'], 'target'],
  ])('%s with %j: %s', (method, headers, outcome) => {
    const parsed = parseGatewayTarget(method, target, [...host, ...headers]);
    expect(parsed.type === 'target' ? 'target' : parsed.code).toBe(outcome);
  });
});
