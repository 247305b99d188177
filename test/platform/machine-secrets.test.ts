// Who reads the secrets of an app: the agent of a machine of that app, in the incarnation that is served, and nobody else.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
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
  await platform.admin.createOrganization('strangers');
  const ofStrangers = await platform.admin.createToken({ organization: 'strangers' });
  const path = '/v1/apps/strangers/secrets/KEY';
  await platform.call({ method: 'PUT', path, body: { value: 'of-strangers' }, token: ofStrangers });
  return { platform, set, tokens: { acme: platform.token, strangers: ofStrangers } };
});

function openDatabase(path: string) {
  const database = new Database(path);
  return { exec: (text: string) => database.exec(text), [Symbol.dispose]: () => void database.close() };
}

/** A machine that has told the platform of its first incarnation. */
async function openMachine(sprite: string, app = 'acme', organization: 'acme' | 'strangers' = 'acme') {
  const { platform, tokens } = opened();
  await platform.admin.createSprite({ organization, name: sprite, app });
  const { id, dir } = await platform.admin.readMachine({ organization, sprite });
  const path = `/v1/apps/${app}/machines/${id}`;
  const starting = platform.call({ method: 'POST', path: `${path}/start`, token: tokens[organization] });
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

test('the machine of another organization gets nothing, and its own are no other machine’s', async () => {
  const { tokens } = opened();
  const one = await openMachine('ours');
  const other = await openMachine('theirs', 'strangers', 'strangers');
  const [nonce, theirs] = [await one.report(0), await other.report(0)];
  await Promise.all([one.starting, other.starting]);
  expect((await other.read(theirs)).secrets).toEqual([{ name: 'KEY', value: 'of-strangers' }]);
  for (const headers of [nonce, theirs]) {
    expect(await other.read(headers, other.token, one.path)).toMatchObject({ status: 403, error: 'forbidden' });
    expect(await one.read(headers, one.token, other.path)).toMatchObject({ status: 403, error: 'forbidden' });
  }
  // Each of its own machine, as one of the other app.
  const [own, strange] = ['/v1/apps/acme/', '/v1/apps/strangers/'];
  expect(await other.read(theirs, other.token, other.path.replace(strange, own))).toMatchObject({ status: 404 });
  expect(await one.read(nonce, one.token, one.path.replace(own, strange))).toMatchObject({ status: 404 });
  for (const token of Object.values(tokens)) {
    expect(await one.read(nonce, token)).toMatchObject({ status: 403, secrets: undefined });
  }
});

test('a former life gets nothing, also with the name of the one that is served', async () => {
  const one = await openMachine('lives');
  const before = await one.report(0);
  await one.starting;
  expect((await one.read(before)).status).toBe(200);
  const name = 'cd'.repeat(16);
  const now = await one.report(1, name);
  const nonceOfBefore = { ...toHeaders(1, name), 'remora-nonce': before['remora-nonce'] ?? '' };
  // Which of the copies that share generation and incarnation is served shows with the first call that has its nonce.
  for (const headers of [toHeaders(1, name), nonceOfBefore]) {
    expect(await one.read(headers)).toMatchObject({ status: 503, error: 'not_ready', secrets: undefined });
  }
  expect((await one.read(now)).status).toBe(200);
  for (const headers of [toHeaders(1, name), nonceOfBefore]) {
    expect(await one.read(headers)).toMatchObject({ status: 409, error: 'incarnation_conflict', secrets: undefined });
  }
  // A later life that has not reported has no nonce; it ends the former one all the same.
  expect(await one.read(toHeaders(2))).toMatchObject({ status: 503, secrets: undefined });
  expect(await one.read(now)).toMatchObject({ status: 409, error: 'rewound', secrets: undefined });
});

test('the stream of changes ends for a life that is over, which asks again and is told so, and goes on for the one that is served', async () => {
  const { platform } = opened();
  const one = await openMachine('followed');
  const before = await one.report(0);
  await one.starting;
  const watch = (headers: Readonly<Record<string, string>>) => {
    const all = { host: 'a', authorization: `Bearer ${one.token.reveal()}`, ...headers };
    const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
    return openRaw(Number(new URL(platform.url).port), `GET /v1/gateway/changes HTTP/1.1\r\n${lines.join('')}\r\n`);
  };
  const old = watch(before);
  await old.until(/hello/);
  const now = await one.report(1, 'cd'.repeat(16));
  await old.until(/\r\n0\r\n\r\n/);
  await watch(before).until(/^HTTP\/1.1 409 .*rewound/s);
  const current = watch(now);
  await current.until(/hello/);
  await opened().set('acme', 'LATER', '1');
  await current.until(/changed/);
  await platform.call({ method: 'DELETE', path: '/v1/apps/acme/secrets/LATER' });
});

test('a machine that is deleted, or whose sprite is, gets nothing any more', async () => {
  const { platform } = opened();
  const one = await openMachine('gone');
  const nonce = await one.report(0);
  await one.starting;
  expect((await one.read(nonce)).status).toBe(200);
  expect((await platform.call({ method: 'DELETE', path: '/v1/sprites/gone' })).status).toBe(204);
  expect(await one.read(nonce)).toMatchObject({ status: 401, secrets: undefined });
});

test('the stream of changes tells the sprites of an app, and no others, that its secrets have changed', async () => {
  const { platform, set } = opened();
  for (const [name, app] of [
    ['three', 'acme'],
    ['four', 'other'],
  ] as const) {
    await platform.admin.createSprite({ organization: 'acme', name, app });
  }
  const strange = await openMachine('five', 'strangers', 'strangers');
  await strange.report(0);
  await strange.starting;
  const own = await openMachine('six');
  await own.report(0);
  await own.starting;
  const watch = async (sprite: string, given?: Secret) => {
    const token = given ?? (await platform.admin.createToken({ organization: 'acme', sprite }));
    const head = `GET /v1/gateway/changes HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${token.reveal()}\r\n\r\n`;
    const reader = openRaw(Number(new URL(platform.url).port), head);
    await reader.until(/hello/);
    return reader;
  };
  const [three, four] = [await watch('three'), await watch('four')];
  const [five, six] = [await watch('five', strange.token), await watch('six', own.token)];
  await set('acme', 'MORE', '1');
  await three.until(/(?:"changed"[^\n]*\n.*?){1}/s);
  await set('acme', 'MORE', '1');
  await set('acme', 'MORE', '2');
  await three.until(/(?:"changed"[^\n]*\n.*?){2}/s);
  await platform.call({ method: 'DELETE', path: '/v1/apps/acme/secrets/MORE' });
  await three.until(/(?:"changed"[^\n]*\n.*?){3}/s);
  expect(three.text.match(/changed/g)).toHaveLength(3);
  await six.until(/(?:"changed"[^\n]*\n.*?){3}/s);
  for (const other of [four, five]) expect(other.text).not.toContain('changed');
  for (const { text } of [three, four, five, six]) expect(text).not.toMatch(/MORE|KEY|of-acme/);

  // What another process has written nobody tells this one of.
  await set('other', 'ELSEWHERE', '1');
  await four.until(/(?:"changed"[^\n]*\n.*?){1}/s);
  using database = openDatabase(join(platform.dir, 'platform.db'));
  database.exec("DELETE FROM app_secrets WHERE name = 'ELSEWHERE'");
  await four.until(/(?:"changed"[^\n]*\n.*?){2}/s);
  expect(three.text.match(/changed/g)).toHaveLength(3);
});
