// A platform in a process of its own with two organizations, `hostile` and `neighbour`, each with machines that are run elsewhere. Arguments:
// a directory and how many machines each has. Says in one line where it is and what the tokens are; then each line of its audit.
import { flushCompileCache } from 'node:module';
import { Secret } from '../../src/core/secret.ts';
import { openPlatform } from '../../src/platform/platform.ts';
import { silentLog } from './silent-log.ts';

const [dir = '', count = '1'] = process.argv.slice(2);
const say = (value: object) => process.stdout.write(`${JSON.stringify(value)}\n`);
const audit = (fields: object) => {
  if ('audit' in fields) say(fields);
};
const platform = await openPlatform({
  dir,
  keys: [new Secret('ab'.repeat(32))],
  listen: { host: '127.0.0.1', port: 0 },
  callRate: { burst: 1_000_000, perSecond: 1_000_000 },
  version: '0.0.0',
  log: { ...silentLog, info: audit, warn: audit },
});
const { admin } = platform;
const tenants = [];
for (const organization of ['hostile', 'neighbour']) {
  await admin.createOrganization(organization);
  const token = (await admin.createToken({ organization })).reveal();
  const machines = [];
  for (let index = 0; index < Number(count); index += 1) {
    const sprite = `m-${index}`;
    await admin.createSprite({ organization, name: sprite, external: true });
    const { id } = await admin.readMachine({ organization, sprite });
    machines.push({
      sprite,
      id,
      app: organization,
      token: (await admin.createToken({ organization, sprite })).reveal(),
    });
  }
  tenants.push({ token, machines });
}
// It is killed, and would compile all of this at each start.
flushCompileCache();
say({ url: platform.url, tenants });
