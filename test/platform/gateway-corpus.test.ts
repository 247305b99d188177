// Every recorded case against the gateway of the platform, over a raw socket, with the bytes that reach the provider compared.
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, onTestFinished, test } from 'vitest';
import { Secret } from '../../src/core/secret.ts';
import { startEchoProvider } from '../support/echo-provider.ts';
import { type GatewayCase, gatewayCases } from '../support/gateway-corpus.ts';
import { openTestPlatform } from '../support/open-platform.ts';
import { openRaw } from '../support/raw-http.ts';
import { toPolicySetter } from '../support/seal-policies.ts';

const API_KEY = 'sk-of-the-connector';

async function openGateway() {
  const provider = await startEchoProvider();
  const own = { address: { type: 'own' } } as const;
  const catalogue = [provider.entry('openai'), provider.entry('github'), provider.entry('custom_api', own)];
  const platform = await openTestPlatform({ catalogue });
  const { admin } = platform;
  await admin.createOrganization('other');
  const api_key = new Secret(API_KEY);
  const allow = { allow_all: true };
  for (const id of ['conn_1', 'conn_2']) {
    await admin.createConnector({ organization: 'acme', provider: 'openai', id, api_key, access_policy: allow });
  }
  const base_api_url = `${provider.origin}/v1`;
  await admin.createConnector({ organization: 'acme', provider: 'custom_api', id: 'conn_sub', api_key, base_api_url });
  await admin.createConnector({
    organization: 'other',
    provider: 'openai',
    id: 'conn_other_org',
    api_key,
    access_policy: allow,
  });
  const db = new Database(join(platform.dir, 'platform.db'));
  onTestFinished(() => {
    db.close();
  });
  // The checks of the door are passed by: what is stored may be malformed, and must deny all the same.
  const setPolicy = toPolicySetter(platform.dir, ['conn_other_org']);
  const setName = db.prepare<[string, string]>('UPDATE sprites SET name = ? WHERE name = ?');
  const tokens = new Map<string, Secret>();
  const tokenOf = async (sprite: GatewayCase['sprite']): Promise<Secret> => {
    if (sprite === null) return platform.token;
    const key = JSON.stringify([sprite.name, sprite.labels]);
    const known = tokens.get(key);
    if (known !== undefined) return known;
    const name = `case-${tokens.size}`;
    await admin.createSprite({ organization: 'acme', name, labels: sprite.labels });
    const made = await admin.createToken({ organization: 'acme', sprite: name });
    // Two sprites of one name but other labels would not fit into one organization: the one before makes way.
    setName.run(`was-${name}`, sprite.name);
    setName.run(sprite.name, name);
    tokens.set(key, made);
    return made;
  };
  return { platform, provider, tokenOf, setPolicy };
}

function toRequest(one: GatewayCase, token: Secret): string {
  const names = one.headers.map(([name]) => name.toLowerCase());
  const lines = [
    `${one.method} ${one.target} HTTP/1.1`,
    ...(names.includes('host') ? [] : ['Host: platform']),
    `Authorization: Bearer ${token.reveal()}`,
    ...one.headers.map(([name, value]) => `${name}: ${value}`),
  ];
  return `${lines.join('\r\n')}\r\n\r\n`;
}

/** Cases about headers and grants do not repeat the path that the provider sees. */
function toForward(one: GatewayCase): string {
  return one.forward ?? one.target.replace(/^\/v1\/gateway\/[^/]+\/[^/]+/, '');
}

const rejections: Readonly<Record<string, number>> = {
  'form-135': 405,
  'form-132': 405,
  'form-137': 414,
  'hdr-148': 403,
};

test('every recorded case has its verdict, and only what is allowed reaches the provider, unchanged', async () => {
  const { platform, provider, tokenOf, setPolicy } = await openGateway();
  const port = Number(new URL(platform.url).port);
  const wrong: string[] = [];
  const check = (one: GatewayCase, what: string, isRight: boolean) => {
    if (!isRight) wrong.push(`${one.id}: ${what}`);
  };
  for (const one of gatewayCases) {
    const token = await tokenOf(one.sprite);
    setPolicy(one.policy);
    const before = provider.requests.length;
    const connection = openRaw(port, toRequest(one, token));
    const answer = await connection.until(/^HTTP\/1\.1 \d{3} [\s\S]*?\r\n\r\n/);
    connection.socket.destroy();
    const status = Number(answer.slice(9, 12));
    const arrived = provider.requests.slice(before);
    switch (one.expect) {
      case 'allow': {
        const [request = ''] = arrived;
        check(one, `status ${status}`, status === 200);
        check(one, `${arrived.length} requests`, arrived.length === 1);
        check(one, request, request.startsWith(`${one.method} ${toForward(one)} HTTP/1.1\r\n`));
        const credentials = request.match(/^authorization: .*$/gim) ?? [];
        check(
          one,
          credentials.join(),
          credentials.length === 1 && credentials[0] === `authorization: Bearer ${API_KEY}`,
        );
        for (const text of [...one.forward_headers_absent, token.reveal()]) {
          check(one, `${text} went through`, !request.includes(text));
        }
        break;
      }
      case 'deny':
        check(one, `status ${status}`, status === (one.sprite === null ? 401 : 403));
        check(one, `${arrived.length} requests`, arrived.length === 0);
        break;
      case 'reject':
        check(
          one,
          `status ${status}`,
          rejections[one.id] === undefined ? [400, 404].includes(status) : status === rejections[one.id],
        );
        check(one, `${arrived.length} requests`, arrived.length === 0);
        break;
      default:
        one.expect satisfies never;
    }
  }
  expect(wrong).toEqual([]);
  expect(gatewayCases.length).toBeGreaterThan(90);
  expect(JSON.stringify(platform.log)).not.toContain(API_KEY);
});

test('a connector of another organization and one that is not there give the same answer', async () => {
  const { platform, tokenOf } = await openGateway();
  const token = await tokenOf({ name: 'dev-1', labels: [] });
  const other = await platform.call({ path: '/v1/gateway/openai/conn_other_org/v1/models', token });
  const absent = await platform.call({ path: '/v1/gateway/openai/conn_none/v1/models', token });
  expect([other.status, other.text]).toEqual([404, absent.text]);
});
