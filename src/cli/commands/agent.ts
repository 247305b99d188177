// `remora agent`: hands the flags to the daemon.
import { resolve } from 'node:path';
import { runAgent } from '../../agent/main.ts';
import type { Invocation } from '../command.ts';
import { exitCode } from '../exit-code.ts';
import { openLogDestination } from '../log-destination.ts';

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

/** The flags that name a file: their values are relative to the current directory. */
const paths: readonly string[] = ['socket', 'state-dir', 'token-file'];

export async function run(invocation: Invocation): Promise<number> {
  if (invocation.has('check')) {
    // The rest of what the daemon is made of has been loaded by now.
    await import('../../agent/open-parts.ts');
    invocation.out.line(invocation.version);
    return exitCode.ok;
  }
  const configPath = invocation.text('config');
  return await runAgent({
    env: invocation.env,
    flags: Object.fromEntries(flags.map((name) => [name.replaceAll('-', '_'), toValue(invocation, name)])),
    ...(configPath === undefined ? {} : { configPath }),
    version: invocation.version,
    logDestination: await openLogDestination(2, invocation.env),
  });
}

function toValue({ text }: Invocation, name: string): string | undefined {
  const given = text(name);
  return given === undefined || given === '' || !paths.includes(name) ? given : resolve(given);
}
