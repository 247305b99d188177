// The operations of the process that enforces the network policy, at a socket that only the agent can open.
import { networkOperations } from '../contract/local/network.ts';
import type { Log } from '../core/log.ts';
import { createEdge } from '../http/edge.ts';
import { type AgentListen, listenForAgent } from '../http/listen-for-agent.ts';
import type { PolicyHandlers } from './unable-handlers.ts';

export interface ServeOptions extends AgentListen {
  /** The version of this program. */
  readonly version: string;
  readonly log: Log;
  readonly idle_ms: number;
}

export interface RunningNetwork extends AsyncDisposable {
  /**
   * Resolves when nothing is restricted and nobody has asked for a while, and when a program of another version is to take over: the next call
   * starts this process again.
   */
  readonly over: Promise<void>;
}

export interface Served {
  readonly handlers: PolicyHandlers;
  /** Whether this process has to run although nobody asks. */
  readonly isNeeded: () => boolean;
  /** Ends all changes by this process. Resolves with the port that its resolver leaves, undefined while nothing is restricted. */
  readonly leave: () => Promise<number | undefined>;
}

/** What an answer needs to leave before its connection ends. */
const ANSWER_MS = 100;

/** Rejects with ListenError when the socket cannot be opened. */
export async function serveNetwork(
  { handlers, isNeeded, leave }: Served,
  options: ServeOptions,
): Promise<RunningNetwork> {
  await using stack = new AsyncDisposableStack();
  const { log, idle_ms, version } = options;
  const { promise: over, resolve } = Promise.withResolvers<void>();
  let asked_ms = performance.now();
  const edge = createEdge<typeof networkOperations, null>({
    operations: networkOperations,
    handlers: {
      ...handlers,
      async yieldNetwork({ body }) {
        if (body.version === version) return { ends: false, pid: process.pid };
        const dns_port = await leave();
        log.info({ version: body.version }, 'a process of another version takes over');
        setTimeout(resolve, ANSWER_MS);
        return { ends: true, pid: process.pid, ...(dns_port === undefined ? {} : { dns_port }) };
      },
    },
    authenticate: () => {
      asked_ms = performance.now();
      return null;
    },
    log,
  });
  stack.defer(() => edge.drain(0));
  const server = edge.createServer('network');
  stack.use(await listenForAgent(server, options));

  const watch = setInterval(() => {
    if (!isNeeded() && performance.now() - asked_ms >= idle_ms) resolve();
  }, idle_ms / 10);
  stack.defer(() => clearInterval(watch));
  const running = stack.move();
  return { over, [Symbol.asyncDispose]: () => running.disposeAsync() };
}
