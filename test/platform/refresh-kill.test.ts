// A platform that is killed between the provider's answer to a renewal and the write of what it got.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import Database from 'better-sqlite3';
import { expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { Secret } from '../../src/core/secret.ts';
import { eventually } from '../support/eventually.ts';
import { type OAuthProvider, startOAuthProvider } from '../support/oauth-provider.ts';
import { callPlatform, openTestPlatform } from '../support/open-platform.ts';
import { tempDir } from '../support/temp-dir.ts';

const script = new URL('../support/oauth-platform.ts', import.meta.url).pathname;
const started = z.object({ url: z.string(), token: z.string(), spriteToken: z.string() });

/** Resolves with the platform that was started in its place. The former token has `left_ms` to go. */
async function killInRenewal(provider: OAuthProvider, left_ms: number) {
  const dir = tempDir();
  const entry = provider.entry('hub');
  const child = spawn(process.execPath, [script, dir, JSON.stringify(entry)], { stdio: ['ignore', 'pipe', 'inherit'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  const line = await createInterface(child.stdout)[Symbol.asyncIterator]().next();
  const { url, ...tokens } = started.parse(JSON.parse(String(line.value)));
  const token = new Secret(tokens.token);
  const spriteToken = new Secret(tokens.spriteToken);

  const { json } = await callPlatform(url, { path: '/v1/oauth/hub/authorize', token });
  const body = { code: provider.agree(json.authorize_url), state: json.state, access_policy: { allow_all: true } };
  const made = await callPlatform(url, { method: 'POST', path: '/v1/oauth/hub/callback', token, body });
  const path = `/v1/gateway/hub/${made.json.connection.id}/user`;

  const db = new Database(join(dir, 'platform.db'));
  db.prepare('UPDATE connectors SET token_expires_at = ?, token_lifetime_ms = NULL').run(Date.now() + left_ms);
  db.close();

  const renewals = () => provider.tokenCalls.filter(({ grant_type }) => grant_type === 'refresh_token').length;
  const answering = Promise.withResolvers<void>();
  provider.state.beforeRefresh = () => answering.promise;
  const lost = callPlatform(url, { path, token: spriteToken }).catch(() => undefined);
  await eventually(() => (renewals() === 1 ? true : undefined));
  child.kill('SIGKILL');
  await once(child, 'exit');
  expect(await lost).toBeUndefined();
  answering.resolve();
  await eventually(() => (provider.answered() === 2 ? true : undefined));

  const platform = await openTestPlatform({ dir, catalogue: [entry], oauthClients: [provider.client('hub')] });
  const use = () => platform.call({ path, token: spriteToken });
  async function authorize() {
    const again = await platform.call({ path: '/v1/oauth/hub/authorize' });
    const code = { code: provider.agree(again.json.authorize_url), state: again.json.state };
    return await platform.call({ method: 'POST', path: '/v1/oauth/hub/callback', body: code });
  }
  const read = async () => (await platform.call({ path: `/v1/oauth/connections/${made.json.connection.id}` })).json;
  return { use, authorize, read, renewals };
}

test('at a provider that takes the old token once more, the connector goes on as if nothing had been', async () => {
  const provider = await startOAuthProvider();
  provider.state.expires_in = 3_600;
  provider.state.rotates = false;
  const { use, renewals } = await killInRenewal(provider, 30_000);
  const before = provider.used.length;
  expect((await use()).status).toBe(200);
  expect(renewals()).toBe(2);
  expect(provider.used.length).toBe(before + 1);
});

test('at one that does not, the token is used to its end, then the connector asks to be authorized, and that heals it', async () => {
  const provider = await startOAuthProvider();
  provider.state.expires_in = 3_600;
  const { use, authorize, read } = await killInRenewal(provider, 3_000);
  const ended = await eventually(async () => {
    const answer = await use();
    return answer.status === 200 ? undefined : answer;
  });
  expect([ended.status, ended.json.error]).toEqual([403, 'authorization_ended']);
  expect((await read()).connection.notes).toMatchObject([{ title: 'Authorization ended' }]);
  expect((await authorize()).status).toBe(201);
  expect((await use()).status).toBe(200);
});
