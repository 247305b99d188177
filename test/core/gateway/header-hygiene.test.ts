import { describe, expect, it } from 'vitest';
import { toCallerHeaders, toUpstreamHeaders } from '../../../src/core/gateway/header-hygiene.ts';

describe('a request header', () => {
  it.each([
    'Host',
    'Connection',
    'Keep-Alive',
    'Proxy-Connection',
    'Proxy-Authorization',
    'TE',
    'Trailer',
    'Transfer-Encoding',
    'Upgrade',
    'HTTP2-Settings',
    'Expect',
    'Authorization',
    'authorization',
    'Cookie',
    'Cookie2',
    'X-Api-Key',
    'X_Api_Key',
    'api_key',
    'Api-Key',
    'X-Goog-Api-Key',
    'Private-Token',
    'Job-Token',
    'X-Auth-Token',
    'Content_Length',
    'Transfer_Encoding',
    'Forwarded',
    'Via',
    'X-Forwarded-For',
    'X_Forwarded_For',
    'X-Forwarded-Host',
    'X-Forwarded-Prefix',
    'X-Real-IP',
    'True-Client-IP',
    'X-Original-URL',
    'X-Rewrite-URL',
    'X-HTTP-Method-Override',
    'X-HTTP-Method',
    'X-Method-Override',
    'X-Envoy-Original-Path',
    'Fly-Src',
    'Fly-Client-IP',
    'Remora-Generation',
    'remora-error',
    'apikey',
    'authentication',
    'dd-api-key',
    'dd-application-key',
    'deploy-token',
    'ocp-apim-subscription-key',
    'openai-api-key',
    'x-access-token',
    'x-amz-security-token',
    'x-api-token',
    'x-apikey',
    'x-auth-email',
    'x-auth-key',
    'x-authorization',
    'x-functions-key',
    'x-gitlab-token',
    'x-goog-iam-authorization-token',
    'x-rapidapi-key',
    'x-sentry-auth',
    'x-shopify-access-token',
    'x-vault-token',
    'cf-connecting-ip',
    'client-ip',
    'fastly-client-ip',
    'request-uri',
    'x-azure-clientip',
    'x-client-ip',
    'x-cluster-client-ip',
    'x-forward-for',
    'x-forwarded',
    'x-host',
    'x-http-host-override',
    'x-http-path-override',
    'x-invoke-path',
    'x-matched-path',
    'x-override-url',
    'x-path-info',
    'x-proxyuser-ip',
    'x-request-uri',
    'x-script-name',
    'X-Original-Host',
    'X-Rewrite-Path',
    'x_envoy_external_address',
    'PROXY_STATUS',
    'X-Middleware-Subrequest',
    'X-Middleware-Rewrite',
    'Remote-User',
    'Remote_Groups',
    'X-Remote-User',
    'X-Url',
    'Base-Url',
    'Http-Url',
    'X-Accel-Mapping',
    'X-Accel-Redirect',
    'X-Sendfile-Type',
    'X-Auth-Request-User',
    'X-WebAuth-User',
    'X.HTTP.Method.Override',
    'X.Api_Key',
    'Content.Length',
    'Transfer.Encoding',
    'Fly.Src',
    'X-remora_cap_x',
  ])('%s is dropped', (name) => expect(toUpstreamHeaders([name, 'v'])).toEqual([]));

  it.each([
    'Accept',
    'Accept-Encoding',
    'Content-Type',
    'Content-Length',
    'Content-Encoding',
    'User-Agent',
    'Range',
    'If-None-Match',
    'Idempotency-Key',
    'anthropic-version',
    'anthropic-beta',
    'OpenAI-Organization',
    'Stripe-Account',
    'Notion-Version',
    'X_Custom',
    'X-Request-Id',
    'Origin',
  ])('%s passes with its spelling', (name) => expect(toUpstreamHeaders([name, 'v'])).toEqual([name, 'v']));
});

describe('a capability token', () => {
  it.each([
    'remora_cap_abc',
    'Bearer remora_cap_abc',
    'http://127.0.0.1:1/v1?key=remora_cap_abc',
    'http://127.0.0.1:1/v1?key=remora%5Fcap%5fabc',
    '%72%65mora_c%61p_abc',
    'remora%255Fcap%255Fabc',
    'a%zz REMORA_CAP_abc',
  ])('takes the header with it that holds %s', (value) => {
    expect(toUpstreamHeaders(['X-Custom', value, 'Referer', value, 'Accept', 'a/b'])).toEqual(['Accept', 'a/b']);
  });

  it('takes no other header with it', () => {
    const headers = ['X-Note', 'remora cap', 'X-Percent', '100%', 'X-Word', 'remora_ca', 'X-Odd', '%72emora%5'];
    expect(toUpstreamHeaders(headers)).toEqual(headers);
  });
});

describe('what Connection nominates', () => {
  it('is dropped, in any spelling', () => {
    const headers = ['X-Hop', 'a', 'x_other', 'b', 'Keep', 'c', 'Connection', 'close, X-HOP,x-other'];
    expect(toUpstreamHeaders(headers)).toEqual(['Keep', 'c']);
  });

  it('may come in several headers', () => {
    expect(toUpstreamHeaders(['connection', 'a', 'Connection', 'b', 'A', '1', 'B', '2', 'C', '3'])).toEqual(['C', '3']);
  });

  it('cannot take the framing away', () => {
    const headers = ['Connection', 'content-length, content-type', 'Content-Length', '3', 'Content-Type', 'text/plain'];
    expect(toUpstreamHeaders(headers)).toEqual(['Content-Length', '3', 'Content-Type', 'text/plain']);
  });

  it('cannot take away what is injected', () => {
    const injected = ['x-api-key', 'secret', 'anthropic-version', '2023-06-01'];
    expect(toUpstreamHeaders(['Connection', 'x-api-key, anthropic-version', 'Accept', '*/*'], injected)).toEqual([
      'Accept',
      '*/*',
      ...injected,
    ]);
  });
});

describe('a header that comes twice', () => {
  it.each(['Authorization', 'X-Api-Key', 'Cookie', 'Via'])('%s is dropped each time', (name) => {
    expect(toUpstreamHeaders([name, 'a', 'Accept', '*/*', name.toUpperCase(), 'b'])).toEqual(['Accept', '*/*']);
  });

  it('passes twice, in order, when it may pass', () => {
    const headers = ['Accept', 'a', 'X-Keep', 'b', 'Accept', 'c'];
    expect(toUpstreamHeaders(headers)).toEqual(headers);
  });
});

describe('an injected header', () => {
  it('replaces every spelling of the caller', () => {
    const caller = ['X-Custom-Key', 'a', 'x_custom_key', 'b', 'X-CUSTOM-KEY', 'c', 'Accept', '*/*'];
    expect(toUpstreamHeaders(caller, ['x-custom-key', 'real'])).toEqual(['Accept', '*/*', 'x-custom-key', 'real']);
  });
});

describe('a response header', () => {
  it.each([
    'Connection',
    'Keep-Alive',
    'Transfer-Encoding',
    'Trailer',
    'Upgrade',
    'TE',
    'Proxy-Authenticate',
    'Proxy-Authentication-Info',
    'Proxy-Connection',
    'proxy_status',
    'Transfer_Encoding',
    'HTTP2-Settings',
    'Host',
    'Expect',
    'Set-Cookie',
    'set-cookie',
    'Set_Cookie',
    'Set-Cookie2',
  ])('%s is dropped', (name) => expect(toCallerHeaders([name, 'v'], 'provider')).toEqual([]));

  it.each([
    'Location',
    'Content-Type',
    'Content-Length',
    'Content-Encoding',
    'ETag',
    'Retry-After',
    'X-RateLimit-Remaining',
    'Date',
    'WWW-Authenticate',
    'X-Accel-Buffering',
  ])('%s passes', (name) => expect(toCallerHeaders([name, 'v'], 'provider')).toEqual([name, 'v']));

  it('keeps repeated ones in order', () => {
    expect(toCallerHeaders(['Link', 'a', 'X', 'b', 'Link', 'c'], 'provider')).toEqual([
      'Link',
      'a',
      'X',
      'b',
      'Link',
      'c',
    ]);
  });

  it('drops what Connection nominates', () => {
    expect(toCallerHeaders(['Connection', 'x-internal', 'X-Internal', 'a'], 'provider')).toEqual([]);
  });

  it('may carry our error marker only from the platform', () => {
    const headers = ['Remora-Error', 'endpoint_blocked'];
    expect(toCallerHeaders(headers, 'provider')).toEqual([]);
    expect(toCallerHeaders(headers, 'platform')).toEqual(headers);
  });
});
