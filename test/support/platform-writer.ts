// A platform in a process of its own that is written to without end: serves the directory given as argument, and prints a line for every
// write that was answered.
import { flushCompileCache } from 'node:module';
import { Secret } from '../../src/core/secret.ts';
import { openPlatform } from '../../src/platform/platform.ts';
import { silentLog } from './silent-log.ts';

await using platform = await openPlatform({
  dir: process.argv[2] ?? '',
  keys: [new Secret('ab'.repeat(32))],
  listen: { host: '127.0.0.1', port: 0 },
  callRate: { burst: 1e9, perSecond: 1e9 },
  version: '0.0.0',
  log: silentLog,
});
if (!(await platform.admin.hasOrganization('acme'))) await platform.admin.createOrganization('acme');
const token = await platform.admin.createToken({ organization: 'acme' });
const headers = { authorization: `Bearer ${token.reveal()}`, 'content-type': 'application/json' };
const post = (path: string, body: unknown) =>
  fetch(platform.url + path, { method: 'POST', headers, body: JSON.stringify(body) });
// It is killed, and would compile all of this at each start.
flushCompileCache();

for (let turn = 0; ; turn += 1) {
  const name = `s-${process.pid}-${turn}`;
  const sprite = await post('/v1/sprites', { name });
  const connector = await post('/v1/oauth/connections/api_key', {
    provider: 'custom_api',
    api_key: name,
    base_api_url: 'https://a.example',
  });
  const answer = await sprite.text();
  process.stdout.write(`${JSON.stringify({ name, statuses: [sprite.status, connector.status], answer })}\n`);
  if (sprite.status !== 201) {
    const list = await fetch(`${platform.url}/v1/sprites`, { headers });
    const retryAfter = sprite.headers.get('retry-after');
    process.stdout.write(`${JSON.stringify({ refused: sprite.status, list: list.status, retryAfter })}\n`);
    break;
  }
}
