// A platform in a process of its own, so that it can be killed: opens the directory given as argument, starts the machine of one
// sprite and says so in one line.
import { Secret } from '../../src/core/secret.ts';
import { openPlatform } from '../../src/platform/platform.ts';

const dir = process.argv[2] ?? '';
const ignore = () => undefined;
const platform = await openPlatform({
  dir,
  keys: [new Secret('ab'.repeat(32))],
  listen: { host: '127.0.0.1', port: 0 },
  agentCommand: { command: process.execPath, args: [new URL('machine-process.ts', import.meta.url).pathname] },
  version: '0.0.0',
  log: { info: ignore, error: ignore, debug: ignore },
});
const name = { organization: 'acme', sprite: 'dev-1' } as const;
await platform.admin.createOrganization('acme');
await platform.admin.createSprite({ organization: 'acme', name: 'dev-1' });
await platform.admin.startMachine(name);
process.stdout.write(`${JSON.stringify({ url: platform.url, machine: await platform.admin.readMachine(name) })}\n`);
if (process.argv[3] === 'exit') setTimeout(() => process.exit(3), 500);
if (process.argv[3] === 'close') setTimeout(() => platform[Symbol.asyncDispose](), 500);
