// The connections to a process beside the agent, such as the supervisor. It is started by the first one that finds nobody at its socket: what
// nobody uses costs nothing.
import type { Duplex } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Dispatcher } from 'undici';
import { errorCode } from '../core/error-code.ts';
import { RemoraError } from '../core/remora-error.ts';
import { Agent, buildConnector } from '../http/undici.ts';

export interface ProcessLinkOptions {
  /** What people call the process. */
  readonly name: string;
  /** The file with its log, as people find it. */
  readonly logFile: string;
  /** Path of its socket. */
  readonly path: string;
  /** Starts the process; it does not wait until it serves. */
  readonly start: () => Promise<void>;
  /** Runs after each attempt to connect, with the reason when it failed. */
  readonly onDialled?: (failure: RemoraError | undefined) => void;
  readonly limit_ms?: number;
}

export interface ProcessLink extends AsyncDisposable {
  /** Its connections reach the process, which they start when it does not run. */
  readonly dispatcher: Dispatcher;
  /** One call to the process, at `/v1/…`. Every status resolves. */
  ask(method: 'GET' | 'POST', path: string, signal?: AbortSignal | null): Promise<Dispatcher.ResponseData>;
  /** Does what `ask` does, with a JSON text. */
  send(method: 'PUT', path: string, json: string): Promise<Dispatcher.ResponseData>;
  /** A connection of its own. Starts the process if it does not run. Throws `start_failed`. */
  readonly connect: () => Promise<Duplex>;
  /** Does what `connect` does, without a connection. */
  open(): Promise<void>;
}

const LIMIT_MS = 10_000;
const POLL_MS = 25;
/** A process that answers so long after its start has not failed by starting. */
const SERVED_MS = 1_000;

export function createProcessLink(options: ProcessLinkOptions): ProcessLink {
  const { path, name, logFile, limit_ms = LIMIT_MS } = options;
  const origin = 'http://beside';
  const connect = buildConnector({ socketPath: path, timeout: limit_ms });
  let starting: Promise<void> | undefined;
  let started_ms = 0;
  let pause: NodeJS.Timeout | undefined;

  function toFailure(cause: Error): RemoraError {
    if (cause instanceof RemoraError) return cause;
    return new RemoraError('start_failed', `the ${name} does not start; ${logFile} says why`, { cause });
  }

  function mayStartAgain(): void {
    clearTimeout(pause);
    starting = undefined;
  }

  /** One start for all who wait, and the next one only after it has had its time, or has served for a while. */
  async function startOnce(): Promise<void> {
    if (starting === undefined) {
      started_ms = performance.now();
      starting = options.start().finally(() => {
        pause = setTimeout(mayStartAgain, limit_ms).unref();
      });
    }
    await starting;
  }

  type Target = Parameters<typeof connect>[0];
  type Connected = Parameters<Parameters<typeof connect>[1]>;
  const dial = (target: Target) => new Promise<Connected>((resolve) => connect(target, (...result) => resolve(result)));

  async function dialOrStart(target: Target): Promise<Connected> {
    const end_ms = performance.now() + limit_ms;
    for (;;) {
      const result = await dial(target);
      if (result[0] === null && performance.now() - started_ms >= SERVED_MS) mayStartAgain();
      if (result[0] === null || !isAbsent(result[0])) return result;
      if (performance.now() >= end_ms) return [toFailure(result[0]), null];
      await startOnce();
      await sleep(POLL_MS);
    }
  }

  async function dialAndTell(target: Target): Promise<Connected> {
    const result = await dialOrStart(target).catch((error: Error): Connected => [toFailure(error), null]);
    options.onDialled?.(result[0] === null ? undefined : toFailure(result[0]));
    return result;
  }

  async function connectOnce(): Promise<Duplex> {
    const [error, socket] = await dialAndTell({ hostname: 'beside', protocol: 'http:', port: '80' } as Target);
    if (error !== null) throw error;
    return socket;
  }

  const agent = new Agent({
    connect(target, callback) {
      void dialAndTell(target).then((result) => callback(...result));
    },
    headersTimeout: 0,
    bodyTimeout: 0,
    pipelining: 1,
    allowH2: false,
  });
  return {
    dispatcher: agent,
    ask: (method, path, signal = null) => agent.request({ origin, method, path, signal }),
    send: (method, path, body) =>
      agent.request({
        origin,
        method,
        path,
        body,
        headers: { 'content-type': 'application/json' },
      }),
    connect: connectOnce,
    async open() {
      (await connectOnce()).destroy();
    },
    [Symbol.asyncDispose]: () => agent.destroy(new Error('the agent is stopping')),
  };
}

/** Nobody listens at the socket. */
function isAbsent(error: Error): boolean {
  const code = errorCode(error);
  return code === 'ECONNREFUSED' || code === 'ENOENT';
}
