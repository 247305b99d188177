// A platform in a process of its own, so that it can be killed: opens the directory given as argument, starts the machines of two
// sprites, freezes the second, and says so in one line. Second argument: `stay`; `close` or `exit` after a while, which ends the
// machines; `leave`: closes and leaves them. Third argument: what the machines do, see machine-process.ts.
import { flushCompileCache } from 'node:module';
import { Secret } from '../../src/core/secret.ts';
import { openPlatform } from '../../src/platform/platform.ts';
import { machineCommand } from './machine-command.ts';
import { silentLog } from './silent-log.ts';

const [, , dir = '', mode, ...args] = process.argv;
const platform = await openPlatform({
  dir,
  keys: [new Secret('ab'.repeat(32))],
  listen: { host: '127.0.0.1', port: 0 },
  agentCommand: machineCommand(...args),
  endMachines: mode === 'close' || mode === 'exit',
  freezeDelay_ms: 0,
  version: '0.0.0',
  log: silentLog,
});
const { admin } = platform;
await admin.createOrganization('acme');
const names = ['dev-1', 'dev-2'].map((sprite) => ({ organization: 'acme', sprite }));
const [, frozen = { organization: '', sprite: '' }] = names;
for (const { organization, sprite } of names) await admin.createSprite({ organization, name: sprite });
await Promise.all(names.map(admin.startMachine));
await admin.suspendMachine(frozen);
for (let state = 'suspending'; state !== 'suspended'; { state } = await admin.readMachine(frozen)) {
  // Where the kernel had no time for it, it runs on.
  if (state === 'running') await admin.suspendMachine(frozen);
  await new Promise((resolve) => setTimeout(resolve, 20));
}
const machines = await Promise.all(names.map(admin.readMachine));
// It is killed, and would compile all of this at each start.
flushCompileCache();
process.stdout.write(`${JSON.stringify({ url: platform.url, machines })}\n`);
if (mode === 'exit') setTimeout(() => process.exit(3), 100);
if (mode === 'close' || mode === 'leave') setTimeout(() => platform[Symbol.asyncDispose](), 100);
