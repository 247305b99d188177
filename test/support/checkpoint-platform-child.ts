// A platform in a process of its own that runs the machine of `dev-1`, makes a checkpoint of it and restores that, and kills itself
// right before a step of the second action. Arguments: directory, `make` or `restore`, step.
import { writeFileSync } from 'node:fs';
import { flushCompileCache } from 'node:module';
import { join } from 'node:path';
import { Secret } from '../../src/core/secret.ts';
import { openPlatform } from '../../src/platform/platform.ts';
import { machineCommand } from './machine-command.ts';
import { silentLog } from './silent-log.ts';

const [dir = '', action = '', fatal = ''] = process.argv.slice(2);
let isArmed = false;
const { admin, url } = await openPlatform({
  dir,
  keys: [new Secret('ab'.repeat(32))],
  listen: { host: '127.0.0.1', port: 0 },
  agentCommand: machineCommand(),
  trustMachines: true,
  version: '0.0.0',
  log: {
    ...silentLog,
    debug(fields) {
      if (isArmed && 'step' in fields && fields.step === fatal) process.kill(process.pid, 'SIGKILL');
    },
  },
});
await admin.createOrganization('acme');
const name = { organization: 'acme', sprite: 'dev-1' } as const;
await admin.createSprite({ organization: 'acme', name: 'dev-1' });
await admin.startMachine(name);
const file = join((await admin.readMachine(name)).dir, 'home', 'file');
const token = await admin.createToken({ organization: 'acme' });
const post = async (path: string) => {
  const headers = { authorization: `Bearer ${token.reveal()}` };
  await (await fetch(`${url}/v1/sprites/dev-1/${path}`, { method: 'POST', headers })).text();
};
writeFileSync(file, 'one');
if (action === 'restore') await post('checkpoint');
writeFileSync(file, action === 'restore' ? 'two' : 'one');
// It is killed, and would compile all of this at each start.
flushCompileCache();
isArmed = true;
await post(action === 'restore' ? 'checkpoints/v0/restore' : 'checkpoint');
