// The signatures of the platform's requests, checked by programs that nobody here wrote: over the raw body of POST and PATCH, and over the raw
// query of GET and DELETE.
import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { loudly } from '../../support/loudly.ts';
import { openExtensions } from '../../support/provisioner.ts';

const python = `
import hashlib, hmac, os, sys
print(hmac.new(os.environ['SECRET'].encode(), sys.stdin.buffer.read(), hashlib.sha256).hexdigest())
`;

/** Each program reads what is signed from its input, and says the signature in hex. */
const programs: readonly (readonly [name: string, words: (secret: string) => string[]])[] = [
  ['openssl', (secret) => ['dgst', '-sha256', '-hmac', secret]],
  ['python3', () => ['-c', python]],
];

function isThere(name: string): boolean {
  try {
    execFileSync(name, [name === 'openssl' ? 'version' : '--version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

const there = programs.filter(([name]) => !loudly(!isThere(name), `no ${name}: it checks no signature`));

test.each(there)('%s finds each signature right, and each url and nonce as they must be', async (name, words) => {
  const { provider, registered, call, create } = await openExtensions();
  await create('my-kv');
  await call('PATCH', '/v1/extensions/my-kv', { primary_region: 'fra' });
  await call('DELETE', '/v1/extensions/my-kv');
  const secret = registered.secrets.provisioning.reveal();
  expect(provider.asked.map(({ method }) => method)).toEqual(['POST', 'GET', 'PATCH', 'DELETE']);
  const nonces = new Set<string>();
  for (const { method, path, query, text, signature } of provider.asked) {
    const signed = method === 'POST' || method === 'PATCH' ? text : query;
    const said = execFileSync(name, words(secret), { input: signed, env: { ...process.env, SECRET: secret } });
    expect(said.toString().trim().split(' ').at(-1), method).toBe(signature);
    const given =
      method === 'POST' || method === 'PATCH' ? JSON.parse(text) : Object.fromEntries(new URLSearchParams(query));
    expect(given.url).toBe(`${new URL(provider.base_url).origin}${path}`);
    expect(Math.abs(Number(given.timestamp) - Date.now() / 1_000)).toBeLessThan(60);
    nonces.add(given.nonce);
  }
  expect(nonces.size).toBe(4);
});
