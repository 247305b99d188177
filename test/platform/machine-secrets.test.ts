// Who reads the secrets of an app: the agent of a machine of that app, in the incarnation that is served, and nobody else.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { Secret } from '../../src/core/secret.ts';
import { openOnce } from '../support/at-end.ts';
import { machineCommand, openTestPlatform } from '../support/open-platform.ts';
import { openRaw } from '../support/raw-http.ts';

const incarnation = 'ab'.repeat(16);

const opened = openOnce(async () => {
  const platform = await openTestPlatform({ agentCommand: machineCommand('silent') });
  await platform.call({ method: 'POST', path: '/v1/apps', body: { name: 'other' } });
  const set = (app: string, name: string, value: string) =>
    platform.call({ method: 'PUT', path: `/v1/apps/${app}/secrets/${name}`, body: { value } });
  await set('acme', 'KEY', 'of-acme');
  await set('other', 'KEY', 'of-other');
  return { platform, set };
});

/** A machine that has told the platform of its first incarnation. */
async function openMachine(sprite: string, app = 'acme') {
  const { platform } = opened();
  await platform.admin.createSprite({ organization: 'acme', name: sprite, app });
  const { id, dir } = await platform.admin.readMachine({ organization: 'acme', sprite });
  const path = `/v1/apps/${app}/machines/${id}`;
  const starting = platform.call({ method: 'POST', path: `${path}/start` });
  const token = await expect
    .poll(() => readFileSync(join(dir, 'token'), 'utf8').trim())
    .toBeTruthy()
    .then(() => new Secret(readFileSync(join(dir, 'token'), 'utf8').trim()));
  async function report(generation: number, name = incarnation): Promise<Record<string, string>> {
    const body = { generation, incarnation: name, reason: 'start', gap_ms: null, wall_skew_ms: null, holds: [] };
    const { json } = await platform.call({ method: 'POST', path: `${path}/resumed`, token, body });
    return { ...toHeaders(generation, name), 'remora-nonce': json.nonce };
  }
  const read = async (headers: Readonly<Record<string, string>>, bearer = token, of = path) => {
    const { status, json, headers: answered } = await platform.call({ path: `${of}/secrets`, token: bearer, headers });
    return { status, error: json.error, secrets: json.secrets, cache: answered.get('cache-control') };
  };
  return { token, path, starting, report, read };
}

function toHeaders(generation: number, name = incarnation): Record<string, string> {
  return { 'remora-generation': String(generation), 'remora-incarnation': name };
}

test('the machine of an app reads those of its own app, with the nonce of its incarnation', async () => {
  const { platform } = opened();
  const one = await openMachine('one');
  const two = await openMachine('two', 'other');
  const [nonce, other] = [await one.report(0), await two.report(0)];
  await Promise.all([one.starting, two.starting]);
  expect(await one.read(nonce)).toEqual({
    status: 200,
    error: undefined,
    secrets: [{ name: 'KEY', value: 'of-acme' }],
    cache: 'no-store',
  });
  expect((await two.read(other)).secrets).toEqual([{ name: 'KEY', value: 'of-other' }]);
  expect(await two.read(other, two.token, one.path)).toMatchObject({ status: 403, error: 'forbidden' });
  const elsewhere = one.path.replace('acme', 'other');
  expect(await one.read(nonce, one.token, elsewhere)).toMatchObject({ status: 404, error: 'not_found' });

  const sprite = await platform.admin.createToken({ organization: 'acme', sprite: 'one' });
  for (const token of [sprite, platform.token]) expect((await one.read(nonce, token)).status).toBe(403);
  expect((await one.read({})).error).toBe('not_ready');
  expect((await one.read(toHeaders(0))).error).toBe('incarnation_conflict');
  expect((await one.read({ ...nonce, 'remora-nonce': 'A'.repeat(43) })).error).toBe('incarnation_conflict');
  expect((await one.read({ ...nonce, 'remora-incarnation': 'cd'.repeat(16) })).error).toBe('incarnation_conflict');
  const resumed = await one.report(1, 'cd'.repeat(16));
  expect((await one.read(resumed)).status).toBe(200);
  expect(await one.read(nonce)).toMatchObject({ status: 409, error: 'rewound', secrets: undefined });
});

test('the stream of changes tells the sprites of an app, and no others, that its secrets have changed', async () => {
  const { platform, set } = opened();
  for (const [name, app] of [
    ['three', 'acme'],
    ['four', 'other'],
  ] as const) {
    await platform.admin.createSprite({ organization: 'acme', name, app });
  }
  const watch = async (sprite: string) => {
    const token = await platform.admin.createToken({ organization: 'acme', sprite });
    const head = `GET /v1/gateway/changes HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${token.reveal()}\r\n\r\n`;
    const reader = openRaw(Number(new URL(platform.url).port), head);
    await reader.until(/hello/);
    return reader;
  };
  const [three, four] = [await watch('three'), await watch('four')];
  await set('acme', 'MORE', '1');
  await three.until(/(changed.*){1}/s);
  await set('acme', 'MORE', '1');
  await set('acme', 'MORE', '2');
  await three.until(/(changed.*){2}/s);
  await platform.call({ method: 'DELETE', path: '/v1/apps/acme/secrets/MORE' });
  await three.until(/(changed.*){3}/s);
  expect(three.text.match(/changed/g)).toHaveLength(3);
  expect(four.text).not.toContain('changed');
});
