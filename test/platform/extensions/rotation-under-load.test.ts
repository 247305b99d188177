// The secrets of a provider are changed while calls go both ways: each call is signed with a secret that the other side has.
import { expect, test } from 'vitest';
import { Secret } from '../../../src/core/secret.ts';
import { signContent } from '../../../src/core/signature.ts';
import { openExtensions } from '../../support/provisioner.ts';
import { runHere } from '../../support/run-here.ts';
import { postForm } from '../../support/sign-on-client.ts';

const CHANGES = 3;

test('no creation, webhook or exchange is refused while the three secrets are changed', async () => {
  const { provider, platform, registered, create, call } = await openExtensions();
  const { provider_id } = (await create('first')).json;
  let { webhook, client } = registered.secrets;
  let isOver = false;
  const counts = { created: 0, told: 0, exchanged: 0 };

  async function rotate(kind: 'provisioning' | 'webhook' | 'client'): Promise<Secret> {
    const words = ['platform', 'extension-provider', 'rotate-secret', 'kv', kind, '--overlap', '1h', '--json'];
    const { out, err } = await runHere([...words, '--dir', platform.dir]);
    expect(err).toBe('');
    return new Secret(JSON.parse(out)[`${kind}_secret`]);
  }
  async function until(work: (index: number) => Promise<void>): Promise<void> {
    for (let index = 0; !isOver; index += 1) await work(index);
  }
  const loads = [
    until(async (index) => {
      expect((await create(`kv-${index}`)).status).toBe(201);
      expect((await call('DELETE', `/v1/extensions/kv-${index}`)).status).toBe(204);
      counts.created += 1;
    }),
    until(async (index) => {
      const resource = { id: provider_id, status: `s-${index}` };
      const timestamp = Math.floor(Date.now() / 1_000);
      const body = JSON.stringify({ timestamp, action: 'resource.updated', resource });
      const headers = { 'content-type': 'application/json', 'x-signature': signContent(webhook, body) };
      const answer = await fetch(`${platform.url}/api/hooks/extensions/kv`, { method: 'POST', headers, body });
      expect(answer.status).toBe(202);
      counts.told += 1;
    }),
    until(async () => {
      const { client_id } = registered.provider;
      const given = { client_id, client_secret: client.reveal(), redirect_uri: 'https://x.example', code: 'none' };
      const { json } = await postForm(`${platform.url}/oauth/token`, { grant_type: 'authorization_code', ...given });
      // The client is known; the code is not.
      expect(json.error).toBe('invalid_grant');
      counts.exchanged += 1;
    }),
  ];
  const changing = (async () => {
    for (let change = 0; change < CHANGES; change += 1) {
      const before = { ...counts };
      const next = await rotate('provisioning');
      webhook = await rotate('webhook');
      client = await rotate('client');
      // The provider has the new one a while later, and then forgets the old one.
      for (const step of [() => {}, () => provider.secrets.push(next), () => provider.secrets.shift()]) {
        step();
        const { created } = counts;
        while (!isOver && counts.created < created + 2) await new Promise((resolve) => setTimeout(resolve, 5));
      }
      for (const name of ['created', 'told', 'exchanged'] as const) expect(counts[name]).toBeGreaterThan(before[name]);
    }
  })();
  try {
    await Promise.race([changing, Promise.all(loads)]);
  } finally {
    isOver = true;
  }
  await Promise.all(loads);
  // Some were signed with the new one before the provider had it, and then with the one of before.
  expect(provider.forged()).toBeGreaterThanOrEqual(CHANGES);
  expect(provider.resources.size).toBe(1);
});
