// Signatures that other programs made, at the door of a provider: fixed ones, and those of openssl and Python's hmac.
import { spawnSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { Secret } from '../../src/core/secret.ts';
import { createProviderHandler } from '../../src/provider/index.ts';
import { openKitProvider, plainFunctions, provisioning } from '../support/kit-provider.ts';
import { loudly } from '../support/loudly.ts';

const SECRET = 'vector-secret-0123456789';
const has = (program: string, ...words: string[]) => spawnSync(program, words).status === 0;

interface Signer {
  readonly program: string;
  readonly isMissing: boolean;
  sign(content: Buffer): string;
}

const python = 'import hmac,sys; print(hmac.new(sys.argv[1].encode(), sys.stdin.buffer.read(), "sha256").hexdigest())';
const signers: Signer[] = [
  {
    program: 'openssl',
    isMissing: !has('openssl', 'version'),
    sign(content) {
      const { stdout } = spawnSync('openssl', ['dgst', '-sha256', '-hmac', SECRET], { input: content });
      return /([0-9a-f]{64})\s*$/.exec(String(stdout))?.[1] ?? '';
    },
  },
  {
    program: 'python3',
    isMissing: !has('python3', '--version'),
    sign: (content) => String(spawnSync('python3', ['-c', python, SECRET], { input: content }).stdout).trim(),
  },
];

describe.each(signers)('$program', ({ program, isMissing, sign }) => {
  it.skipIf(loudly(isMissing, `no ${program}: its signatures are not tried`))(
    'signs bodies and queries that are believed, and nothing else is',
    async () => {
      const { baseUrl } = await openKitProvider({ provisioningSecrets: () => [new Secret(SECRET)] });
      const timestamp = Math.floor(Date.now() / 1_000);
      // Not as JSON.stringify would write it: what counts is the bytes.
      const fields = { ...provisioning('e1'), organization_name: 'Café "Ö" 🐟', url: `${baseUrl}/extensions` };
      const body = Buffer.from(` ${JSON.stringify({ timestamp, nonce: `${program}-1`, ...fields }, undefined, 3)}\r\n`);
      const post = (signature: string) =>
        fetch(`${baseUrl}/extensions`, { method: 'POST', body, headers: { 'x-signature': signature } });
      const signature = sign(body);
      expect((await post(signature.replace(/^./, (digit) => (digit === '0' ? '1' : '0')))).status).toBe(401);
      expect((await post(signature)).status).toBe(200);

      const path = '/extensions/p-e1';
      const query = `nonce=${program}-2&url=${encodeURIComponent(baseUrl + path)}&x=a+b%2f%2F&timestamp=${timestamp}`;
      const get = (text: string, given: string) =>
        fetch(`${baseUrl}${path}?${text}`, { headers: { 'x-signature': given } });
      const signed = sign(Buffer.from(query));
      expect((await get(query.replace('%2f', '%2F'), signed)).status).toBe(401);
      expect((await get(query, signed)).status).toBe(200);
    },
  );
});

describe('a fixed vector', () => {
  // printf %s BODY | openssl dgst -sha256 -hmac vector-secret-0123456789
  const body =
    '{"name":"n","id":"e1","organization_id":"o","organization_name":"O","user_id":"u","user_email":"u@x","user_role":"admin",' +
    '"url":"https://kv.test/remora/extensions","nonce":"n-1","timestamp":1800000000}';
  const hex = 'cd53a9dc6f000d03c050615f622f319117a57c03a845d0ea3cee1c85e8e7643b';
  const query = 'url=https%3A%2F%2Fkv.test%2Fremora%2Fextensions%2Fe1&nonce=n-2&timestamp=1800000000';
  const queryHex = '0d57d455dcbb40c91540b54683b60cfd63884fc9fb643e5969a5599927a99fc9';

  function open() {
    return createProviderHandler({
      baseUrl: 'https://kv.test/remora',
      provisioningSecrets: () => [new Secret(SECRET)],
      onError: (error) => {
        throw error;
      },
      clock: { wall_ms: () => 1_800_000_000_000, mono_ms: () => performance.now() },
      ...plainFunctions,
    });
  }

  it.each([
    ['hex', hex],
    ['hex in capitals', hex.toUpperCase()],
    ['hex with its name', `sha256=${hex}`],
    ['base64', Buffer.from(hex, 'hex').toString('base64')],
  ])('of a body, as %s', async (_form, signature) => {
    const request = new Request('https://kv.test/remora/extensions', {
      method: 'POST',
      body,
      headers: { 'x-signature': signature },
    });
    expect((await open()(request)).status).toBe(200);
  });

  it('of a query, which a DELETE cannot use after a GET', async () => {
    const handler = open();
    const ask = async (method: string) =>
      await handler(
        new Request(`https://kv.test/remora/extensions/e1?${query}`, { method, headers: { 'x-signature': queryHex } }),
      );
    expect((await ask('GET')).status).toBe(200);
    expect((await ask('DELETE')).status).toBe(401);
  });
});
