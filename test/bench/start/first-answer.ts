// The first answer of a process on a Unix socket, seen from outside. A shell notes its process id and the time, and becomes the process.
import { readFileSync } from 'node:fs';
import { request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { readCpu_ms } from '../process-cost.ts';

const POLL_MS = 1;
const LIMIT_MS = 30_000;

export interface FirstAnswer {
  readonly pid: number;
  /** The time from the start of the process. */
  readonly ms: number;
  /** CPU time until then. */
  readonly cpu_ms: number;
}

/** The arguments of `/bin/sh`: it writes to `stamp`, and becomes what the shell script in the file `command` says. */
export function toShellArgs({ stamp, command }: { readonly stamp: string; readonly command: string }): string[] {
  return ['-c', 'echo $$ $(date +%s%N) > "$0"; . "$1"', stamp, command];
}

/** The line of a script that becomes Node with these arguments. */
export function toExecLine(args: readonly string[]): string {
  return `exec ${[process.execPath, ...args].map((word) => `'${word.replaceAll("'", "'\\''")}'`).join(' ')}\n`;
}

/** Resolves when a process that `toShellArgs` starts has answered at the socket. Throws when none does within half a minute. */
export async function awaitFirstAnswer(socketPath: string, stamp: string): Promise<FirstAnswer> {
  const begun_ms = performance.now();
  while (!(await answers(socketPath))) {
    if (performance.now() - begun_ms > LIMIT_MS) throw new Error(`no answer at ${socketPath} within ${LIMIT_MS} ms`);
    await sleep(POLL_MS);
  }
  const now_ms = performance.timeOrigin + performance.now();
  const [pid = Number.NaN, start_ns = Number.NaN] = readFileSync(stamp, 'latin1').split(' ').map(Number);
  return { pid, ms: now_ms - start_ns / 1e6, cpu_ms: readCpu_ms(pid) };
}

function answers(socketPath: string): Promise<boolean> {
  return new Promise((resolve) => {
    const call = request({ socketPath, path: '/v1/health' }, (response) => {
      response.resume().once('end', () => resolve(response.statusCode === 200));
    });
    call.once('error', () => resolve(false));
    call.end();
  });
}
