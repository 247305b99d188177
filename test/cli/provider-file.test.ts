// The file that adds providers, OAuth clients and management keys to a platform.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { readProviderFile } from '../../src/cli/platform/provider-file.ts';
import { createCatalogue } from '../../src/platform/catalogue/catalogue.ts';
import { openTestPlatform } from '../support/open-platform.ts';
import { tempDir } from '../support/temp-dir.ts';

function write(text: string): string {
  const dir = tempDir();
  writeFileSync(join(dir, 'secret'), 'hunter2\n', { mode: 0o600 });
  const path = join(dir, 'providers.toml');
  writeFileSync(path, text);
  return path;
}

const ACME = `
[[providers]]
provider = "acme_api"
display_name = "Acme"
description = "What Acme sells"
address = { type = "fixed", url = "https://api.acme.example" }
injection = { in = "header", name = "authorization", prefix = "Token " }
key_format = { pattern = "^acme_", hint = "a key of Acme begins with acme_" }
sample_path = "/v1/things"

[oauth_clients.github]
client_id = "abc"
client_secret_file = "secret"
redirect_uris = ["https://app.example/back"]

[management_keys.openrouter]
key_file = "secret"
`;

it('knows about 25 providers without it, each once and checked', () => {
  const { entries } = createCatalogue();
  expect(entries.length).toBeGreaterThanOrEqual(25);
  expect(new Set(entries.map(({ provider }) => provider)).size).toBe(entries.length);
  expect(entries.filter(({ oauth }) => oauth !== undefined).map(({ provider }) => provider)).toEqual([
    'github',
    'gitlab',
    'google',
    'linear',
    'notion',
    'slack',
    'slack_user',
  ]);
});

it('adds what it says, with secrets from files beside it that cannot be printed', async () => {
  const file = readProviderFile(write(ACME));
  expect(JSON.stringify([file.oauthClients, [...file.managementKeys]])).not.toContain('hunter2');
  expect(file.managementKeys.get('openrouter')?.reveal()).toBe('hunter2');
  const platform = await openTestPlatform(file);
  const path = '/v1/oauth/connections/api_key';
  const make = (api_key: string) => platform.call({ method: 'POST', path, body: { provider: 'acme_api', api_key } });
  expect((await make('acme_1')).status).toBe(201);
  expect((await make('other')).status).toBe(400);
  const redirect = 'redirect_uri=https://app.example/back';
  const { json } = await platform.call({ path: `/v1/oauth/github/authorize?${redirect}` });
  expect(json.authorize_url).toContain('https://github.com/login/oauth/authorize?response_type=code&client_id=abc&');
});

it.each([
  ['[[providers]]\nprovider = "Acme"', /providers\.0\.provider.*\n.*providers\.0\.display_name/],
  [ACME.replace('https://api', 'http://api'), /the address must be https/],
  [ACME.replace('"^acme_"', '"("'), /key_format/],
  [ACME.replace('client_id', 'client'), /oauth_clients\.github/],
  [ACME.replace('"secret"', '"absent"'), /ENOENT/],
  ['nonsense', /Invalid TOML|invalid/i],
])('is refused as a whole when something is wrong: %#', (text, message) => {
  expect(() => readProviderFile(write(text))).toThrow(message);
});
