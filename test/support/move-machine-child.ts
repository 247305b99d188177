// A platform in a process of its own that moves the machine of `dev-1` about for ever, so that it can be killed in any step: opens the
// directory given as argument and says each move that was answered.
import { flushCompileCache } from 'node:module';
import { Secret } from '../../src/core/secret.ts';
import { randomFraction } from '../../src/core/urandom.ts';
import { openPlatform } from '../../src/platform/platform.ts';
import { machineCommand } from './machine-command.ts';
import { silentLog } from './silent-log.ts';

const ignore = () => undefined;
const { admin } = await openPlatform({
  dir: process.argv[2] ?? '',
  keys: [new Secret('ab'.repeat(32))],
  listen: { host: '127.0.0.1', port: 0 },
  agentCommand: machineCommand(),
  freezeDelay_ms: 5,
  version: '0.0.0',
  log: silentLog,
});
const name = { organization: 'acme', sprite: 'dev-1' } as const;
const moves = [
  () => admin.startMachine(name),
  () => admin.suspendMachine(name),
  () => admin.startMachine(name),
  () => admin.stopMachine(name, { signal: 'SIGKILL', timeout_ms: 0 }),
];
// It is killed, and would compile all of this at each start.
flushCompileCache();
process.stdout.write('ready\n');
for (let step = 0; ; step += 1) {
  const move = moves[Math.floor(randomFraction() * moves.length)];
  await move?.().catch(ignore);
  process.stdout.write(`${step}\n`);
}
