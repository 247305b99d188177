// Who may call what: the tokens of an organization and of a sprite against every row of the platform.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { Secret } from '../../src/core/secret.ts';
import { openTestPlatform } from '../support/open-platform.ts';

async function openWithTwoOrganizations() {
  const platform = await openTestPlatform();
  const { admin } = platform;
  await admin.createOrganization('other');
  for (const name of ['dev-1', 'dev-2']) await admin.createSprite({ organization: 'acme', name });
  await admin.createSprite({ organization: 'other', name: 'dev-1' });
  const api_key = new Secret('sk-1');
  await admin.createConnector({ organization: 'acme', provider: 'openai', api_key, id: 'conn_1' });
  return {
    platform,
    sprite: await admin.createToken({ organization: 'acme', sprite: 'dev-1' }),
    other: await admin.createToken({ organization: 'other' }),
    mine: await admin.readMachine({ organization: 'acme', sprite: 'dev-1' }),
    neighbour: await admin.readMachine({ organization: 'acme', sprite: 'dev-2' }),
  };
}

const notices = {
  notices: [{ id: 'n1', type: 'port_opened', port: 80, address: 'x', pid: 1, time: '2025-01-01T00:00:00.000Z' }],
};
const policy = { access_policy: { allow_all: true } };
const claimed = { generation: 0, incarnation: 'ab'.repeat(16) };
const report = { ...claimed, reason: 'start', gap_ms: null, wall_skew_ms: null, holds: [] };
const key = { provider: 'openai', api_key: 'sk-2' };

/** Method, path, body, and the status for: nobody, the organization, a sprite of it, another organization. */
function toMatrix(mine: string, neighbour: string) {
  return [
    ['GET', '/v1/health', undefined, 200, 200, 200, 200],
    ['GET', '/openapi.json', undefined, 200, 200, 200, 200],
    ['GET', '/metrics', undefined, 200, 200, 200, 200],
    ['GET', '/v1/sprites', undefined, 401, 200, 403, 200],
    ['POST', '/v1/sprites', { name: 'new' }, 401, 201, 403, 201],
    ['GET', '/v1/sprites/dev-1', undefined, 401, 200, 200, 200],
    ['GET', '/v1/sprites/dev-2', undefined, 401, 200, 403, 404],
    ['GET', '/v1/sprites/none', undefined, 401, 404, 403, 404],
    ['PUT', '/v1/sprites/dev-2', { url_settings: {} }, 401, 200, 403, 404],
    ['GET', '/v1/oauth/connections', undefined, 401, 200, 200, 200],
    ['GET', '/v1/oauth/connections/conn_1', undefined, 401, 200, 404, 404],
    ['POST', '/v1/oauth/connections/api_key', key, 401, 201, 403, 201],
    ['PATCH', '/v1/oauth/connections/conn_1', policy, 401, 200, 403, 404],
    ['PUT', '/v1/oauth/connections/conn_1', policy, 401, 200, 403, 404],
    ['GET', '/v1/gateway/list', undefined, 401, 200, 200, 200],
    ['GET', `/v1/apps/acme/machines/${mine}`, undefined, 401, 200, 200, 404],
    ['GET', `/v1/apps/acme/machines/${neighbour}`, undefined, 401, 200, 403, 404],
    ['GET', `/v1/apps/wrong/machines/${mine}`, undefined, 401, 404, 404, 404],
    ['GET', `/v1/apps/acme/machines/none`, undefined, 401, 404, 403, 404],
    ['GET', `/v1/apps/acme/machines/${mine}/wait?state=stopped`, undefined, 401, 200, 200, 404],
    ['POST', `/v1/apps/acme/machines/${mine}/suspend`, undefined, 401, 409, 409, 404],
    ['POST', `/v1/apps/acme/machines/${neighbour}/suspend`, undefined, 401, 409, 403, 404],
    ['POST', `/v1/apps/acme/machines/${mine}/stop`, undefined, 401, 200, 200, 404],
    ['POST', `/v1/apps/acme/machines/${mine}/metadata/role`, { value: 'primary' }, 401, 204, 204, 404],
    ['POST', `/v1/apps/acme/machines/${mine}/resumed`, report, 401, 403, 200, 403],
    ['POST', `/v1/apps/acme/machines/${neighbour}/resumed`, report, 401, 403, 403, 403],
    ['POST', '/v1/sprites/dev-1/ports/notices', notices, 401, 403, 200, 403],
    ['POST', '/v1/sprites/dev-2/ports/notices', notices, 401, 403, 403, 403],
    ['GET', '/v1/sprites/dev-1/ports', undefined, 401, 200, 200, 200],
    ['GET', '/v1/sprites/dev-2/ports', undefined, 401, 200, 403, 404],
    ['DELETE', '/v1/sprites/dev-2', undefined, 401, 204, 403, 404],
    ['DELETE', '/v1/oauth/connections/conn_1', undefined, 401, 204, 403, 404],
  ] as const;
}

describe('access', () => {
  test('every row opens to whom it should and to nobody else', async () => {
    const { platform, sprite, other, mine, neighbour } = await openWithTwoOrganizations();
    const wrong: string[] = [];
    // The other callers come first, so that what the organization may delete is still there for them.
    const callers = [
      ['nobody', undefined, 3],
      ['sprite', sprite, 5],
      ['another organization', other, 6],
      ['organization', platform.token, 4],
    ] as const;
    for (const [who, token, column] of callers) {
      for (const row of toMatrix(mine.id, neighbour.id)) {
        const [method, path, body] = row;
        const { status } = await platform.call({ method, path, token, body });
        if (status !== row[column]) wrong.push(`${who}: ${method} ${path} gave ${status}, not ${row[column]}`);
      }
    }
    expect(wrong).toEqual([]);
  });

  test('a missing and an invalid token are 401 with WWW-Authenticate', async () => {
    const { url } = await openTestPlatform();
    const headers = ['', 'Bearer', 'Bearer ', 'Bearer nonsense', 'Basic YTpi', `Bearer ${'x'.repeat(600)}`];
    for (const authorization of headers) {
      const answer = await fetch(`${url}/v1/sprites`, { headers: { authorization } });
      expect(answer.status, authorization).toBe(401);
      expect(answer.headers.get('www-authenticate'), authorization).toBe('Bearer');
      expect(await answer.json()).toMatchObject({ error: 'unauthorized' });
    }
  });

  test('what a sprite may not see looks the same whether it is there or not', async () => {
    const { platform, sprite } = await openWithTwoOrganizations();
    const there = await platform.call({ path: '/v1/sprites/dev-2', token: sprite });
    const absent = await platform.call({ path: '/v1/sprites/none', token: sprite });
    expect(there.text).toBe(absent.text);
  });

  test('no token is stored as text', async () => {
    const { platform, sprite } = await openWithTwoOrganizations();
    const files = ['platform.db', 'platform.db-wal'].map((name) => readFileSync(join(platform.dir, name)));
    for (const token of [platform.token, sprite]) {
      for (const file of files) expect(file.includes(token.reveal())).toBe(false);
    }
  });

  test('a token stays valid over a restart', async () => {
    const first = await openTestPlatform();
    await first[Symbol.asyncDispose]();
    const second = await openTestPlatform({ dir: first.dir });
    expect((await second.call({ path: '/v1/sprites', token: first.token })).status).toBe(200);
  });
});
