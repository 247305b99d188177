// Policies of a sprite at a real platform: what holds is answered, and what cannot be enforced is refused and not kept.
import { expect, test } from 'vitest';
import { openTestPlatform } from '../support/open-platform.ts';

const path = '/v1/sprites/dev-1/policy';

async function openSprite() {
  const platform = await openTestPlatform();
  await platform.admin.createSprite({ organization: 'acme', name: 'dev-1' });
  const post = (kind: string, body: unknown) => platform.call({ method: 'POST', path: `${path}/${kind}`, body });
  const read = async (kind: string) => (await platform.call({ path: `${path}/${kind}` })).json;
  return { platform, post, read };
}

test('nothing is restricted, and saying so is taken', async () => {
  const { platform, post, read } = await openSprite();
  expect(await read('network')).toEqual({ rules: [] });
  expect([await read('privileges'), await read('resources')]).toEqual([{}, {}]);
  expect((await post('network', { rules: [] })).status).toBe(204);
  expect((await post('privileges', { profile: '', devices: [] })).status).toBe(204);
  expect((await post('resources', {})).status).toBe(204);
  for (const kind of ['privileges', 'resources']) {
    expect((await platform.call({ method: 'DELETE', path: `${path}/${kind}` })).status).toBe(204);
  }
});

test.each([
  ['network', { rules: [{ include: 'defaults' }, { action: 'allow', domain: '*.example.com' }] }],
  ['privileges', { profile: 'minimal' }],
  ['privileges', { noNewPrivileges: true }],
  ['resources', { memory: { limit_mb: 512 } }],
])('a %s policy is refused, with what is missing, and not kept', async (kind, policy) => {
  const { post, read } = await openSprite();
  const answer = await post(kind, policy);
  expect([answer.status, answer.json]).toEqual([
    501,
    expect.objectContaining({ error: 'not_supported', details: { missing: expect.stringMatching(/./) } }),
  ]);
  expect(await read(kind)).toEqual(kind === 'network' ? { rules: [] } : {});
});

test.each([
  ['network', { rules: [{ action: 'allow' }] }],
  ['network', { rules: [{ include: 'defaults', domain: 'example.com' }] }],
  ['network', { rules: [{}] }],
  ['privileges', { profile: 'all' }],
  ['resources', { memory: { limit_mb: -1 } }],
])('a %s policy that breaks a rule is refused as such', async (kind, policy) => {
  const { post } = await openSprite();
  const answer = await post(kind, policy);
  expect([answer.status, answer.json.error]).toEqual([400, 'invalid_request']);
});

test('a rule of the network that covers no name is refused with its field and what to write', async () => {
  const { post } = await openSprite();
  const rules = [
    { action: 'allow', domain: 'https://example.com' },
    { include: 'everything' },
    { include: 'defaults' },
  ];
  expect((await post('network', { rules })).json).toMatchObject({
    error: 'invalid_request',
    details: {
      fields: [
        { field: 'body.rules.0.domain', message: expect.stringContaining('write a name such as example.com') },
        { field: 'body.rules.1.include', message: expect.stringContaining('there are defaults, ') },
      ],
    },
  });
});

test('a sprite reads its own and sets none, and of another organization there is nothing', async () => {
  const { platform } = await openSprite();
  const own = await platform.admin.createToken({ organization: 'acme', sprite: 'dev-1' });
  expect((await platform.call({ path: `${path}/network`, token: own })).status).toBe(200);
  const body = { rules: [] };
  expect((await platform.call({ method: 'POST', path: `${path}/network`, body, token: own })).status).toBe(403);
  await platform.admin.createOrganization('other');
  const other = await platform.admin.createToken({ organization: 'other' });
  expect((await platform.call({ path: `${path}/network`, token: other })).status).toBe(404);
});
