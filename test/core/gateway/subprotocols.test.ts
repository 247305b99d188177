// Which elements of a Sec-WebSocket-Protocol header are credentials, element by element.
import { describe, expect, it } from 'vitest';
import { toUpstreamHeaders } from '../../../src/core/gateway/header-hygiene.ts';
import { readSubprotocolTokens, withoutCredentials } from '../../../src/core/gateway/subprotocols.ts';

const token = `remora_cap_${'Ab1-'.repeat(10)}xyz`;

describe('an element that carries a key', () => {
  it.each([
    'openai-insecure-api-key.sk-proj-1',
    'OpenAI-Insecure-API-Key.sk-proj-1',
    `openai-insecure-api-key.${token}`,
    token,
    `anything-${token}`,
    token.toUpperCase(),
    'xai-client-secret.abc',
    'base64url.bearer.authorization.k8s.io.c2VjcmV0',
    'Grpc-Metadata-Macaroon+0201036c6e64',
    'header-eyJob3N0IjoiYSJ9',
    'bearer.abc',
    'basic.abc',
    'token.abc',
    'access_token.abc',
    'access-token.abc',
    'api-key.abc',
    'apikey.abc',
    'x-api-key.abc',
    'auth.abc',
    'authorization.abc',
    'client-secret.abc',
    'jwt.abc',
    'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln',
    'k'.repeat(65),
  ])('%s is dropped, and its neighbours pass', (element) => {
    expect(withoutCredentials([`realtime, ${element}, v2`])).toBe('realtime, v2');
  });
});

describe('an element that says that a key follows', () => {
  it.each([
    'token',
    'Token',
    'bearer',
    'basic',
    'jwt',
    'authorization',
    'access_token',
    'access-token',
    'accesstoken',
    'api-key',
    'api_key',
    'apikey',
    'x-api-key',
    'openai-insecure-api-key',
    'xai-client-secret',
    'base64url.bearer.authorization.k8s.io',
  ])('%s is dropped with the key', (marker) => {
    expect(withoutCredentials([`realtime, ${marker}, 0123abcd, v2`])).toBe('realtime, v2');
    expect(withoutCredentials([`realtime,${marker}`, ' ,0123abcd'])).toBe('realtime');
  });
});

describe('a name of a protocol', () => {
  it.each([
    'realtime',
    'openai-beta.realtime-v1',
    'openai-organization.org-1',
    'openai-project.proj_1',
    'graphql-transport-ws',
    'graphql-ws',
    'mqtt',
    'v12.stomp',
    'wamp.2.json',
    'soap',
    'chat',
    'v5.channel.k8s.io',
    'base64.binary.k8s.io',
    'aws-appsync-event-ws',
    'mcp',
    'json.webpubsub.azure.v1',
    'bearer-less',
    'tokenizer',
    'k'.repeat(64),
  ])('%s passes with its spelling', (name) => {
    expect(withoutCredentials([name])).toBe(name);
    expect(toUpstreamHeaders(['Sec-WebSocket-Protocol', name])).toEqual(['Sec-WebSocket-Protocol', name]);
  });
});

describe('the header', () => {
  it('is not sent when nothing is left of it', () => {
    expect(toUpstreamHeaders(['Sec-WebSocket-Protocol', `openai-insecure-api-key.${token}`, 'A', 'b'])).toEqual([
      'A',
      'b',
    ]);
  });

  it('is one list in all its spellings and lines', () => {
    const headers = [
      'sec-websocket-protocol',
      'a, token',
      'Sec_WebSocket_Protocol',
      'key-1, b',
      'SEC-WEBSOCKET-PROTOCOL',
      'c',
    ];
    expect(toUpstreamHeaders(headers)).toEqual(['Sec-WebSocket-Protocol', 'a, b, c']);
  });

  it('is dropped when Connection nominates it', () => {
    expect(toUpstreamHeaders(['Connection', 'sec-websocket-protocol', 'Sec-WebSocket-Protocol', 'a'])).toEqual([]);
  });
});

describe('a capability token', () => {
  it.each([
    [`realtime, openai-insecure-api-key.${token}`, [token]],
    [`token,${token}`, [token]],
    [token, [token]],
    ['realtime, openai-insecure-api-key.sk-1', []],
    ['', []],
  ])('is found in %j', (value, expected) => expect(readSubprotocolTokens(value)).toEqual(expected));
});
