// The peer: a shell that runs `ss -ltnp` once a second, whose output is compared with that of the second before.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { now_ms } from './moment.ts';

/** USER_HZ. */
const TICK_MS = 10;
const END = '--';

export interface SsLoop extends AsyncDisposable {
  /** The time of the shell and of everything it ran. */
  cpu_ms(): number;
}

/** `onPorts` gets the listening ports of each round. */
export function startSsLoop(onPorts: (ports: ReadonlySet<number>, at_ms: number) => void): SsLoop {
  const shell = spawn('sh', ['-c', `while :; do ss -ltnp; echo ${END}; sleep 1; done`], {
    stdio: ['ignore', 'pipe', 'inherit'],
    detached: true,
  });
  const { pid = 0 } = shell;
  let rest = '';
  shell.stdout.setEncoding('latin1').on('data', (text: string) => {
    const rounds = (rest + text).split(`${END}\n`);
    rest = rounds.pop() ?? '';
    for (const round of rounds) {
      const found = round.matchAll(/^LISTEN +\d+ +\d+ +\S+:(\d+) /gm);
      onPorts(new Set([...found].map((match) => Number(match[1]))), now_ms());
    }
  });
  return {
    cpu_ms() {
      const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
      const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      return fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks) * TICK_MS, 0);
    },
    async [Symbol.asyncDispose]() {
      const gone = once(shell, 'exit');
      process.kill(-pid, 'SIGKILL');
      await gone;
    },
  };
}
