import { describe, expect, it } from 'vitest';
import { Secret } from '../../src/core/secret.ts';
import { signContent } from '../../src/core/signature.ts';
import { createNonceBook, NONCE_KEPT_MS } from '../../src/provider/store/nonce-book.ts';
import { createRequestVerifier, type SignedRequest } from '../../src/provider/verify-request.ts';

const secret = new Secret('shared');
const base = 'https://provider.test/remora';
const NOW_S = 1_800_000_000;
const HOUR_MS = 3_600_000;

function setUp() {
  let [wall_ms, mono_ms] = [NOW_S * 1_000, 0];
  const nonces = createNonceBook({ max: 20 });
  const verify = createRequestVerifier({
    secrets: () => [new Secret('newer'), secret],
    baseUrl: `${base}/`,
    nonces,
    clock: { wall_ms: () => wall_ms, mono_ms: () => mono_ms },
  });
  const set = (ms: number) => (wall_ms += ms);
  const pass = (ms: number) => {
    set(ms);
    mono_ms += ms;
  };
  return { verify, pass, set, nonces };
}

function post(parts: object = {}, key = secret): SignedRequest {
  const body = Buffer.from(
    JSON.stringify({ name: 'x', url: `${base}/extensions`, nonce: 'n1', timestamp: NOW_S, ...parts }),
  );
  return { method: 'POST', target: '/extensions', body, signature: signContent(key, body) };
}

function get(method: string, parts: Record<string, string> = {}): SignedRequest {
  const query = new URLSearchParams({
    url: `${base}/extensions/e1/sso`,
    nonce: 'n1',
    timestamp: String(NOW_S),
    ...parts,
  }).toString();
  return {
    method,
    target: `/extensions/e1/sso?${query}`,
    body: Buffer.alloc(0),
    signature: signContent(secret, query),
  };
}

describe('a request of the platform', () => {
  it.each([
    ['a POST', post()],
    ['a GET', get('GET')],
    ['a signature with an older secret', post({}, secret)],
    ['the edge of the window', post({ timestamp: NOW_S - 300 })],
  ])('%s is believed', async (_case, request) => {
    await setUp().verify(request);
  });
});

describe('any other request', () => {
  const forged = post();
  it.each([
    ['without a signature', { ...forged, signature: undefined }],
    ['with another secret', post({}, new Secret('guess'))],
    ['with a changed body', { ...forged, body: Buffer.from(`${Buffer.from(forged.body)} `) }],
    ['that is stale', post({ timestamp: NOW_S - 301 })],
    ['from the future', post({ timestamp: NOW_S + 301 })],
    ['signed for another address', post({ url: 'https://other.test/remora/extensions' })],
    ['signed for another path', { ...forged, target: '/extensions/e2' }],
    ['without a nonce', post({ nonce: undefined })],
    ['that is not JSON', { ...forged, body: Buffer.from('{'), signature: signContent(secret, '{') }],
  ])('%s is refused, with one message for every cause', async (_case, request) => {
    await expect(setUp().verify(request)).rejects.toThrow('the request is not signed as it must be');
  });

  it('that is sent again is refused, until its time is long over', async () => {
    const { verify, pass } = setUp();
    await verify(post());
    await expect(verify(post())).rejects.toThrow();
    pass(200_000);
    await expect(verify(post())).rejects.toThrow();
  });

  it('that is sent again is refused as long as its time would be good', async () => {
    const { verify, pass } = setUp();
    const ahead = post({ timestamp: NOW_S + 300 });
    await verify(ahead);
    for (const step_ms of [290_000, 290_000, 19_000]) {
      pass(step_ms);
      await expect(verify(ahead)).rejects.toThrow('signed');
    }
  });

  it('that is sent again after the clock was set ahead and back is refused', async () => {
    const { verify, set, pass } = setUp();
    const at = (step_ms: number, nonce: string) => post({ nonce, timestamp: NOW_S + step_ms / 1_000 });
    await verify(post());
    set(24 * HOUR_MS);
    await verify(at(24 * HOUR_MS, 'n2'));
    pass(20_000);
    await verify(at(24 * HOUR_MS + 20_000, 'n3'));
    set(-24 * HOUR_MS);
    await expect(verify(post())).rejects.toThrow('signed');
  });

  it('makes no nonce last for ever: what is old is forgotten once the clock has been steady', async () => {
    const { verify, set, pass } = setUp();
    set(24 * HOUR_MS);
    for (let count = 0; count < 60; count += 1) {
      pass(100_000);
      await verify(post({ nonce: `n${count}`, timestamp: NOW_S + 24 * 3_600 + (count + 1) * 100 }));
    }
  });

  it('is refused when a GET was signed and a DELETE is sent with its signature', async () => {
    const { verify } = setUp();
    await verify(get('GET'));
    await expect(verify(get('DELETE'))).rejects.toThrow();
  });

  it('uses up no nonce by a forged signature', async () => {
    const { verify } = setUp();
    await expect(verify({ ...post(), signature: '00'.repeat(32) })).rejects.toThrow();
    await verify(post());
  });
});

it('forgets nonces when nobody could use them any more, and not before', () => {
  const book = createNonceBook({ max: 2 });
  expect(book.use('a', 0)).toBe(true);
  expect(book.use('b', HOUR_MS)).toBe(true);
  book.forget(0);
  expect(book.use('a', HOUR_MS)).toBe(false);
  expect(() => book.use('c', HOUR_MS)).toThrow('more than 2 requests');
  book.forget(HOUR_MS - NONCE_KEPT_MS);
  expect(book.use('a', HOUR_MS)).toBe(true);
});
