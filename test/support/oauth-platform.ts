// A platform in a process of its own that is an OAuth client, so that it can be killed: arguments are its directory and, as JSON, the
// provider's entry of the catalogue. Prints its URL, a token of the organization and one of its sprite
// in one line.
import { Secret } from '../../src/core/secret.ts';
import { openPlatform } from '../../src/platform/platform.ts';
import { silentLog } from './silent-log.ts';

const ignore = () => undefined;
const [dir = '', entry = ''] = process.argv.slice(2);
await using platform = await openPlatform({
  dir,
  keys: [new Secret('ab'.repeat(32))],
  listen: { host: '127.0.0.1', port: 0 },
  catalogue: [JSON.parse(entry)],
  oauthClients: [
    { provider: 'hub', client_id: 'client-1', client_secret: new Secret('client-secret-1'), redirect_uris: [] },
  ],
  version: '0.0.0',
  log: silentLog,
});
await platform.admin.createOrganization('acme');
await platform.admin.createSprite({ organization: 'acme', name: 'dev-1' });
const token = await platform.admin.createToken({ organization: 'acme' });
const spriteToken = await platform.admin.createToken({ organization: 'acme', sprite: 'dev-1' });
const line = { url: platform.url, token: token.reveal(), spriteToken: spriteToken.reveal() };
process.stdout.write(`${JSON.stringify(line)}\n`);
await new Promise(() => setInterval(ignore, 60_000));
