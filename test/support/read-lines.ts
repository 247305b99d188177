// Reading a stream of lines over HTTP the way a follower does: one line at a time, with a deadline, and the end told apart.
import { type ClientRequest, type IncomingMessage, request } from 'node:http';
import { onTestFinished } from 'vitest';

export interface LineReader {
  readonly response: IncomingMessage;
  /** The next line as a JSON value; blank lines are skipped. Rejects at the end of the stream and after `limit_ms`. */
  next(limit_ms?: number): Promise<Record<string, unknown>>;
  /** How the stream ended: `end` = cleanly, `aborted` = broken off. */
  readonly ended: Promise<'end' | 'aborted'>;
  close(): void;
}

/** Calls a URL, or a path of a Unix socket. */
export async function readLines(url: string, socketPath?: string, method = 'GET'): Promise<LineReader> {
  const call: ClientRequest =
    socketPath === undefined ? request(url, { method }) : request({ socketPath, path: url, method });
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    call.once('response', resolve);
    call.once('error', reject);
    call.end();
  });
  onTestFinished(() => {
    call.destroy();
  });
  call.on('error', () => undefined);
  response.on('error', () => undefined);
  response.setEncoding('utf8');
  let lines: string[] = [];
  /** How many of them were returned: to take each from the front of many thousands keeps the loop busy for seconds. */
  let taken = 0;
  let rest = '';
  let wake = () => {};
  let over = false;
  response.on('data', (chunk: string) => {
    const parts = (rest + chunk).split('\n');
    rest = parts.pop() ?? '';
    lines.push(...parts.filter((line) => line !== ''));
    wake();
  });
  const ended = new Promise<'end' | 'aborted'>((resolve) => {
    response.once('close', () => {
      over = true;
      resolve(response.complete ? 'end' : 'aborted');
      wake();
    });
  });
  return {
    response,
    ended,
    async next(limit_ms = 60_000) {
      const deadline = performance.now() + limit_ms;
      for (;;) {
        const line = lines[taken];
        if (line !== undefined) {
          taken += 1;
          return JSON.parse(line);
        }
        [lines, taken] = [[], 0];
        if (over) throw new Error('the stream has ended');
        const left_ms = deadline - performance.now();
        if (left_ms <= 0) throw new Error(`no line within ${limit_ms} ms`);
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, left_ms);
          wake = () => {
            clearTimeout(timer);
            resolve();
          };
        });
      }
    },
    close: () => call.destroy(),
  };
}
