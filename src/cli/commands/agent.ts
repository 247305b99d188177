// `remora agent`: hands the flags to the daemon.
import { runAgent } from '../../agent/main.ts';
import type { Invocation } from '../command.ts';

const flags = [
  'socket',
  'state-dir',
  'base-url',
  'token-file',
  'machines-api',
  'node-url',
  'listen',
  'log-level',
] as const;

export async function run(invocation: Invocation): Promise<number> {
  const configPath = invocation.text('config');
  return await runAgent({
    env: invocation.env,
    flags: Object.fromEntries(flags.map((name) => [name.replaceAll('-', '_'), invocation.text(name)])),
    ...(configPath === undefined ? {} : { configPath }),
    version: invocation.version,
  });
}
