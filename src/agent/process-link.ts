// The connections to a process beside the agent, such as the supervisor. It is started by the first one that finds nobody at its socket: what
// nobody uses costs nothing.
import type { Duplex } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import type { buildConnector } from 'undici';
import { errorCode } from '../core/error-code.ts';
import { RemoraError } from '../core/remora-error.ts';
import { createDial } from '../http/dial.ts';
import { type Outbound, type OutboundOptions, openOutbound } from '../http/outbound.ts';
import type { Answer } from '../http/request.ts';

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
  readonly dispatcher: Pick<Outbound, 'dispatch' | 'request'>;
  /** One call to the process, at `/v1/…`. Every status resolves. */
  ask(method: 'GET' | 'POST', path: string, signal?: AbortSignal | null): Promise<Answer>;
  /** Does what `ask` does, with a JSON text. */
  send(method: 'PUT', path: string, json: string): Promise<Answer>;
  /** A connection of its own. Starts the process if it does not run. Throws `start_failed`. */
  readonly connect: () => Promise<Duplex>;
  /** Does what `connect` does, without a connection. */
  open(): Promise<void>;
}

const LIMIT_MS = 10_000;
const IDLE_MS = 4_000;
const POLL_MS = 25;
/** A process that answers so long after its start has not failed by starting. */
const SERVED_MS = 1_000;

type Connected = Parameters<buildConnector.Callback>;
/** One socket is dialled, whatever is asked for. */
const target: buildConnector.Options = { hostname: 'beside', protocol: 'http:', port: '80' };

export function createProcessLink(options: ProcessLinkOptions): ProcessLink {
  const { path, name, logFile, limit_ms = LIMIT_MS } = options;
  const origin = 'http://beside';
  const dial: OutboundOptions['dial'] = (reads) => createDial({ socketPath: path, timeout_ms: limit_ms, ...reads });
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

  async function dialOrStart(connect: buildConnector.connector): Promise<Connected> {
    const end_ms = performance.now() + limit_ms;
    for (;;) {
      const result = await new Promise<Connected>((resolve) => connect(target, (...each) => resolve(each)));
      if (result[0] === null && performance.now() - started_ms >= SERVED_MS) mayStartAgain();
      if (result[0] === null || !isAbsent(result[0])) return result;
      if (performance.now() >= end_ms) return [toFailure(result[0]), null];
      await startOnce();
      await sleep(POLL_MS);
    }
  }

  async function dialAndTell(connect: buildConnector.connector): Promise<Connected> {
    const result = await dialOrStart(connect).catch((error: Error): Connected => [toFailure(error), null]);
    options.onDialled?.(result[0] === null ? undefined : toFailure(result[0]));
    return result;
  }

  async function connectOnce(): Promise<Duplex> {
    const [error, socket] = await dialAndTell(dial({}));
    if (error !== null) throw error;
    return socket;
  }

  const outbound = openOutbound({
    dial(reads) {
      const connect = dial(reads);
      return (_to, callback) => void dialAndTell(connect).then((result) => callback(...result));
    },
    headers_ms: 0,
    idle_ms: IDLE_MS,
  });
  return {
    dispatcher: outbound,
    ask: (method, path, signal = null) => outbound.request({ origin, method, path, signal }),
    send: (method, path, body) =>
      outbound.request({
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
    [Symbol.asyncDispose]: () => outbound.destroy(new Error('the agent is stopping')),
  };
}

/** Nobody listens at the socket. */
function isAbsent(error: Error): boolean {
  const code = errorCode(error);
  return code === 'ECONNREFUSED' || code === 'ENOENT';
}
