// The daemon put together: the edge with its listeners, and then the parts behind it, which are loaded while the agent can be reached already.
import { setTimeout as sleep } from 'node:timers/promises';
import { agentOperations } from '../contract/agent-operations.ts';
import { listenerNames } from '../contract/listeners.ts';
import type { Log } from '../core/log.ts';
import { RemoraError } from '../core/remora-error.ts';
import type { InheritedSocket } from '../http/inherited-sockets.ts';
import { logHolds } from '../http/log-holds.ts';
import { LoopWatch } from '../http/loop-watch.ts';
import { checkServedAt } from '../http/served-at.ts';
import type { Kernel } from '../linux/kernel/kernel.ts';
import { createAgentEdge } from './agent-edge.ts';
import { answerEarly } from './answer-early.ts';
import type { Config } from './config/load-config.ts';
import { openListeners } from './listeners.ts';
import type { RunningParts } from './open-parts.ts';
import type { RestartCause } from './restart/restart-cause.ts';
import type { RestartState } from './restart/restart-state.ts';
import { createDiskProbe } from './status/disk-probe.ts';

export interface AgentOptions {
  readonly config: Config;
  readonly log: Log;
  readonly env: NodeJS.ProcessEnv;
  readonly inherited: readonly InheritedSocket[];
  /** What the former process left, which ended to be started again. */
  readonly restartState?: RestartState | undefined;
  /** Called when the state of a part has changed. */
  readonly onStatus?: (() => void) | undefined;
  /** Asks for this process to be ended and started again. Without it this agent cannot be upgraded. */
  readonly onRestart?: (why: RestartCause) => void;
  readonly version: string;
  /** Ends every loop. */
  readonly signal: AbortSignal;
  /** Replaces the kernel of this machine, for benchmarks. */
  readonly kernel?: Kernel;
  /** Checks every answer against the schema of its operation, for tests. */
  readonly checkAnswers?: boolean;
}

export interface RunningAgent extends AsyncDisposable, Omit<RunningParts, 'prepareRestart'> {
  /** Where it serves, as people write it: a path, `fd:3`, or `host:port`. */
  readonly addresses: readonly string[];
  /**
   * Ends everything but the generation file, and gives what the next process needs. Open calls are answered; new connections wait in
   * the queue of a socket of systemd.
   */
  prepareRestart(): Promise<RestartState>;
  /** Settles when the disk below its database has answered, which is never while it hangs. */
  answers(): Promise<unknown>;
}

/** So long callers who have waited for the socket may come before the loading of the parts holds the event loop. */
const EARLY_MS = 2;
const STOPPING = new RemoraError('shutting_down', 'the agent is stopping; try again', { retryAfter_ms: 1_000 });

/**
 * Opens everything and serves. Throws ListenError when a socket cannot be opened, and an Error for an operation that does not say
 * where it is served; every other failure is the state of a part.
 */
export async function openAgent(options: AgentOptions): Promise<RunningAgent> {
  const { config } = options;
  checkServedAt(agentOperations, listenerNames);
  /** Disposes of the files that stay when this process is started again. */
  await using files = new AsyncDisposableStack();
  await using stack = new AsyncDisposableStack();
  /** Closed before everything else. */
  await using doors = new AsyncDisposableStack();

  const loop = stack.use(new LoopWatch(logHolds(options.log)));
  const probe = createDiskProbe(config.stateDir);
  const { edge, open, giveUp } = createAgentEdge({ ...options, loop });
  // Deferred before the listeners open, so that one that cannot be opened leaves none of the others open.
  let isLent = false;
  doors.defer(() => (isLent ? edge.handOver(config.shutdown_ms, { error: STOPPING }) : edge.drain(config.shutdown_ms)));
  const listeners = doors.use(await openListeners(edge, config, options.inherited));
  doors.defer(() => giveUp(STOPPING));
  isLent = listeners.isLent;
  await sleep(EARLY_MS);
  await answerEarly();

  const { openParts } = await import('./open-parts.ts');
  await answerEarly();
  const parts = await openParts({ ...options, loop, probe, edge, open, listeners }, { stack, files, doors });

  const running = stack.move();
  const kept = files.move();
  const stop = () => running.disposeAsync();
  return {
    ...parts,
    addresses: listeners.addresses,
    prepareRestart: () => parts.prepareRestart(stop),
    // A question to the database itself would hold the event loop while the disk hangs, and nobody would be served.
    answers: () => probe.ask(),
    async [Symbol.asyncDispose]() {
      await stop();
      await kept.disposeAsync();
    },
  };
}
