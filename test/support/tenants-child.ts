// A platform in a process of its own with two organizations, each with a sprite and a connector to a provider of its own. Arguments: a
// directory and the origins of both providers. Says in one line where it is and what the tokens of the sprites are.
import { flushCompileCache } from 'node:module';
import { Secret } from '../../src/core/secret.ts';
import { openPlatform } from '../../src/platform/platform.ts';
import { silentLog } from './silent-log.ts';

const [dir = '', ...origins] = process.argv.slice(2);
const log: string[] = [];
const platform = await openPlatform({
  dir,
  keys: [new Secret('ab'.repeat(32))],
  listen: { host: '127.0.0.1', port: 0 },
  catalogue: origins.map((url, index) => ({
    provider: `provider_${index}`,
    display_name: 'of a test',
    description: 'of a test',
    address: { type: 'fixed', url },
    injection: { in: 'header', name: 'authorization', prefix: 'Bearer ' },
    allow_http: true,
    sample_path: '/',
  })),
  version: '0.0.0',
  log: { ...silentLog, error: (fields) => log.push(JSON.stringify(fields)) },
});
const tokens: string[] = [];
for (const index of origins.keys()) {
  const organization = `org-${index}`;
  await platform.admin.createOrganization(organization);
  await platform.admin.createSprite({ organization, name: 'dev-1' });
  await platform.admin.createConnector({
    organization,
    provider: `provider_${index}`,
    id: `conn_${index}`,
    api_key: new Secret('k'),
    access_policy: { allow_all: true },
  });
  tokens.push((await platform.admin.createToken({ organization, sprite: 'dev-1' })).reveal());
}
// It is killed, and would compile all of this at each start.
flushCompileCache();
process.stdout.write(`${JSON.stringify({ url: platform.url, tokens })}\n`);
