// A child process that talks in lines: what it prints can be awaited, and it is gone when the test ends.
import { type ChildProcess, spawn } from 'node:child_process';
import { atEnd } from './at-end.ts';

export interface LineChild {
  readonly process: ChildProcess;
  /** Resolves with the first line, printed already or later, that fits and was not returned before. Rejects at the end. */
  line(pattern: RegExp): Promise<string>;
  /** Sends one line to its standard input. */
  say(text: string): void;
  /** The exit code, or the signal that ended it. */
  readonly ended: Promise<number | NodeJS.Signals | null>;
}

export function startChild(
  command: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
  cwd = process.cwd(),
): LineChild {
  const child = spawn(command, args, { cwd, stdio: ['pipe', 'pipe', 'inherit'], env: { ...process.env, ...env } });
  const ended = new Promise<number | NodeJS.Signals | null>((resolve) => {
    child.once('close', (code, signal) => resolve(code ?? signal));
  });
  atEnd(async () => {
    child.kill('SIGKILL');
    await ended;
  });
  // A test that speaks to a child which has just ended learns that from `ended`.
  child.stdin.on('error', () => undefined);
  const lines: string[] = [];
  let rest = '';
  let isOver = false;
  const watchers = new Set<() => void>();
  const notify = () => {
    for (const watcher of watchers) watcher();
  };
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    const parts = (rest + chunk).split('\n');
    rest = parts.pop() ?? '';
    lines.push(...parts);
    notify();
  });
  child.once('close', () => {
    isOver = true;
    notify();
  });
  return {
    process: child,
    ended,
    say: (text) => {
      child.stdin.write(`${text}\n`);
    },
    line: (pattern) =>
      new Promise((resolve, reject) => {
        const check = () => {
          const index = lines.findIndex((line) => pattern.test(line));
          if (index < 0 && !isOver) return;
          watchers.delete(check);
          if (index < 0) reject(new Error(`the child ended without ${pattern}; it printed ${JSON.stringify(lines)}`));
          else resolve(lines.splice(index, 1)[0] ?? '');
        };
        watchers.add(check);
        check();
      }),
  };
}
