// HAProxy, a balancer that speaks the PROXY protocol on both sides, for tests that check ours against it.
import { existsSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { startChild } from './child-lines.ts';
import { eventually } from './eventually.ts';
import { loudly } from './loudly.ts';
import { tempDir } from './temp-dir.ts';

const PROGRAM = ['/usr/sbin/haproxy', '/usr/local/sbin/haproxy'].find((path) => existsSync(path));

export function isWithoutHaproxy(): boolean {
  return loudly(PROGRAM === undefined, 'no haproxy: the PROXY protocol is not tried with another implementation');
}

/** `sections`: what follows the defaults, for bytes of TCP. */
export function toHaproxyCommand(sections: string): { readonly command: string; readonly args: string[] } {
  if (PROGRAM === undefined) throw new Error('there is no haproxy');
  const file = join(tempDir(), 'haproxy.cfg');
  const defaults = ['mode tcp', 'timeout connect 60s', 'timeout client 60s', 'timeout server 60s'];
  writeFileSync(file, `global\n  maxconn 64\ndefaults\n  ${defaults.join('\n  ')}\n${sections}\n`);
  return { command: PROGRAM, args: ['-db', '-q', '-f', file] };
}

/** `ports`: where it listens then. Resolves once it does. */
export async function startHaproxy(sections: string, ports: readonly number[]): Promise<void> {
  const { command, args } = toHaproxyCommand(sections);
  startChild(command, args);
  for (const port of ports) await eventually(() => isListening(port));
}

function isListening(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port });
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
    socket.once('connect', () => socket.destroy());
  });
}
