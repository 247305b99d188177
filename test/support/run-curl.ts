// Runs the real curl over a Unix socket, as a person would.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { onTestFinished } from 'vitest';

export interface CurlAnswer {
  readonly status: number;
  /** All that it printed: the head of the answer and its body. */
  readonly text: string;
}

const upgrade = [
  'connection: Upgrade',
  'upgrade: websocket',
  'sec-websocket-version: 13',
  `sec-websocket-key: ${btoa('0123456789abcdef')}`,
];

/** The options with which curl asks for a WebSocket. */
export const webSocketWords: readonly string[] = upgrade.flatMap((header) => ['-H', header]);

/** Starts it; `seen` resolves when it has printed what is wanted, or all of it, and `end` ends it. */
export function startCurl(socket: string, path: string, words: readonly string[]) {
  const child = spawn('curl', ['-sSiN', '--unix-socket', socket, ...words, `http://remora${path}`]);
  onTestFinished(() => void child.kill('SIGKILL'));
  let text = '';
  let errors = '';
  const watchers = new Set<() => void>();
  child.stdout.setEncoding('latin1').on('data', (part: string) => {
    text += part;
    for (const watcher of watchers) watcher();
  });
  child.stderr.on('data', (part: Buffer) => {
    errors += String(part);
  });
  const closed = once(child, 'close');
  const toAnswer = (): CurlAnswer => {
    const [, status] = /^HTTP\/1\.1 (\d{3})/.exec(text) ?? [];
    if (status === undefined) throw new Error(`curl ${path}: ${errors}`);
    return { status: Number(status), text };
  };
  return {
    async seen(wanted: RegExp): Promise<CurlAnswer> {
      const { promise, resolve } = Promise.withResolvers<void>();
      const watcher = () => wanted.test(text) && resolve();
      watchers.add(watcher);
      watcher();
      await Promise.race([promise, closed]);
      watchers.delete(watcher);
      return toAnswer();
    },
    async all(): Promise<CurlAnswer> {
      await closed;
      return toAnswer();
    },
    async end(): Promise<void> {
      child.kill('SIGTERM');
      await closed;
    },
  };
}
