// The lines that the platform gives to be pasted, pasted into a shell, with the variable that they ask for and without it.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { expect, test } from 'vitest';
import { Secret } from '../../src/core/secret.ts';
import { startEchoProvider } from '../support/echo-provider.ts';
import { loudly } from '../support/loudly.ts';
import { openTestPlatform } from '../support/open-platform.ts';

const isWithoutCurl = () =>
  loudly(
    spawnSync('curl', ['--version']).error !== undefined,
    'there is no curl to paste the lines of the platform into',
  );

async function paste(line: string, env: Readonly<Record<string, string>>) {
  const child = spawn('sh', ['-c', line], {
    env: { PATH: process.env.PATH ?? '', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let text = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
  const [code] = await once(child, 'close');
  return { code, text };
}

test.skipIf(isWithoutCurl())('each line works as pasted, and says which token it needs', async () => {
  const provider = await startEchoProvider();
  const entry = provider.entry('sample', { sample_path: "/v1/it's?a=1&b=$HOME" });
  const platform = await openTestPlatform({ catalogue: [entry] });
  const api_key = new Secret('k');
  const access_policy = { allow_all: true };
  await platform.admin.createConnector({
    organization: 'acme',
    provider: 'sample',
    id: 'conn_1',
    api_key,
    access_policy,
  });
  await platform.admin.createSprite({ organization: 'acme', name: 'dev-1' });
  const token = await platform.admin.createToken({ organization: 'acme', sprite: 'dev-1' });
  const read = async (path: string) => await platform.call({ path, token });
  const guide = (await read('/v1/gateway/guide')).text;
  const lines: string[] = [
    (await read('/v1/gateway/list')).json.connections[0].usage_snippet,
    (await read('/v1/oauth/connections')).json.connections[0].usage_snippet,
    (await read('/v1/oauth/connections/conn_1')).json.connection.usage_snippet,
    (await read('/v1/gateway/providers?provider=sample')).json.providers[0].usage_snippet,
    /try: `(curl .*)`$/m.exec(guide)?.[1] ?? '',
  ];
  for (const line of lines) {
    const pasted = await paste(line, { REMORA_SPRITE_TOKEN: token.reveal() });
    expect({ line, ...pasted }).toMatchObject({ code: 0, text: expect.stringMatching(/ok$/) });
    expect(provider.requests.at(-1)).toContain("GET /v1/it's?a=1&b=$HOME HTTP");
    const bare = await paste(line, {});
    expect(bare.code).not.toBe(0);
    expect(bare.text).toContain('REMORA_SPRITE_TOKEN: set it to the token of a sprite');
  }
  expect(provider.requests).toHaveLength(lines.length);
  expect(guide).toContain('`REMORA_SPRITE_TOKEN`');
});
