// Learns from the kernel which sockets are freed, through one `ss` that keeps running, so that a port that closes is noticed at
// once. It is only a hint: a scan decides what is open, and finds every change without it as well.
import { type ChildProcess, spawn } from 'node:child_process';
import split2 from 'split2';
import { parseClosedPort } from '../../core/ports/closed-port.ts';

/**
 * `stdbuf` makes `ss` write line by line: by itself it fills a buffer when it does not write to a terminal. The filter leaves
 * connections out.
 */
const COMMAND: readonly string[] = ['stdbuf', '-oL', 'ss', '-HEtn', 'dport', '=', '0'];
const DEFAULT_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
const LINE_CAP = 4_096;
/** An `ss` that ends sooner cannot do it here: no such option, or no right to listen. It is not started again. */
const SOON_MS = 2_000;
const AGAIN_MS = 60_000;

/** `absent`: it cannot run here, with the reason. `ended`: it will be started again. */
export interface ClosedSocketWatchStatus {
  readonly state: 'off' | 'listening' | 'ended' | 'absent';
  readonly reason?: string;
}

export interface ClosedSocketWatch extends AsyncDisposable {
  start(): void;
  status(): ClosedSocketWatchStatus;
}

export interface ClosedSocketWatchOptions {
  /** Replaces the command of the system in a test. */
  readonly command?: readonly string[] | undefined;
  readonly onClosed: (port: number) => void;
}

export function createClosedSocketWatch({ command = COMMAND, onClosed }: ClosedSocketWatchOptions): ClosedSocketWatch {
  const [file = '', ...args] = command;
  let status: ClosedSocketWatchStatus = { state: 'off' };
  let child: ChildProcess | undefined;
  let gone: Promise<void> | undefined;
  let again: NodeJS.Timeout | undefined;
  let stopped = false;

  function readLine(line: string): void {
    const port = parseClosedPort(line);
    if (port !== undefined) onClosed(port);
  }

  function run(): void {
    const begun_ms = performance.now();
    const env = { PATH: process.env.PATH ?? DEFAULT_PATH, LC_ALL: 'C' };
    const running = spawn(file, args, { stdio: ['ignore', 'pipe', 'ignore'], env });
    child = running;
    status = { state: 'listening' };
    const lines = running.stdout.pipe(split2({ maxLength: LINE_CAP }));
    lines.on('data', readLine);
    lines.on('error', () => {
      // `ss` prints no line this long, so that this helper cannot be used and is ended. What it still prints has to be read,
      // because `close` comes after it.
      running.kill();
      running.stdout.resume();
    });
    gone = new Promise((resolve) => {
      let reason: string | undefined;
      running.once('error', (error) => {
        reason = error.message;
      });
      running.once('close', (code, signal) => {
        end(reason ?? `${file} ended with ${signal ?? code}`, begun_ms);
        resolve();
      });
    });
  }

  function end(reason: string, begun_ms: number): void {
    child = undefined;
    if (stopped) return;
    const isAbsent = performance.now() - begun_ms < SOON_MS;
    status = { state: isAbsent ? 'absent' : 'ended', reason };
    if (isAbsent) return;
    again = setTimeout(run, AGAIN_MS);
    again.unref();
  }

  return {
    start: run,
    status: () => status,
    async [Symbol.asyncDispose]() {
      stopped = true;
      clearTimeout(again);
      child?.kill();
      await gone;
      status = { state: 'off' };
    },
  };
}
