// The daemon put together: the edge with its listeners, what the parts stand on, the parts in the order of their needs, and then the start.
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { agentOperations } from '../contract/agent-operations.ts';
import { listenerNames } from '../contract/listeners.ts';
import type { Log } from '../core/log.ts';
import { RemoraError } from '../core/remora-error.ts';
import type { Edge } from '../http/edge.ts';
import type { InheritedSocket } from '../http/inherited-sockets.ts';
import { logHolds } from '../http/log-holds.ts';
import { LoopWatch } from '../http/loop-watch.ts';
import { checkServedAt } from '../http/served-at.ts';
import type { Kernel } from '../linux/kernel/kernel.ts';
import { type AgentBase, openAgentBase, openUpstream, setSettingsPart } from './agent-base.ts';
import { createAgentEdge } from './agent-edge.ts';
import { type AgentParts, createAgentParts } from './agent-parts.ts';
import type { ChannelTarget } from './channel/channel-target.ts';
import type { Config } from './config/load-config.ts';
import { listenForResumes } from './listen-for-resumes.ts';
import { type Listeners, openListeners } from './listeners.ts';
import { prepareRestart } from './prepare-restart.ts';
import { createRecoverySteps } from './recovery-steps.ts';
import type { RestartCause } from './restart/restart-cause.ts';
import { bootClock_ms } from './restart/restart-file.ts';
import { createRestartRequest } from './restart/restart-request.ts';
import type { RestartState } from './restart/restart-state.ts';
import { rehearseLater } from './resume/rehearse-resume.ts';
import { createDiskProbe } from './status/disk-probe.ts';
import { toStatusLine } from './systemd/status-line.ts';

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

export interface RunningAgent extends AsyncDisposable {
  /** Where it serves, as people write it: a path, `fd:3`, or `host:port`. */
  readonly addresses: readonly string[];
  /** How it is, in one line. */
  statusLine(): string;
  /** Settles when the disk below its database has answered, which is never while it hangs. */
  answers(): Promise<unknown>;
  /** Call it after the settings have been read again, with the fault when they cannot be used. */
  noteSettings(fault?: string): void;
  /** False from the request for a suspend until a resume or a refusal: a restart in between would leave the suspend half done. */
  readonly mayRestart: boolean;
  /**
   * Ends everything but the generation file, and gives what the next process needs. Open calls are answered; new connections wait in
   * the queue of a socket of systemd.
   */
  prepareRestart(): Promise<RestartState>;
  /** Cuts the gateway calls in flight and writes their records, before a process of unknown state ends. Takes at most two seconds. */
  abandon(): Promise<void>;
  /** Notes that this process goes on. After a resume it does so with randomness that a clone may share. */
  noteNotRestarted(reason: string, why: RestartCause): void;
}

/** So long callers who have waited for the socket may come before the opening of the parts holds the event loop. */
const EARLY_MS = 2;
/** A connection is taken, its request read, and the answer written. */
const TURNS = 3;
const STOPPING = new RemoraError('shutting_down', 'the agent is stopping; try again', { retryAfter_ms: 1_000 });
const NOT_TAKEN = 'the settings were read again and cannot be used, so that the earlier ones are used';

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
  const { edge, open, giveUp } = createAgentEdge({ ...options, loop, probe });
  // Deferred before the listeners open, so that one that cannot be opened leaves none of the others open.
  let isLent = false;
  doors.defer(() => (isLent ? edge.handOver(config.shutdown_ms, { error: STOPPING }) : edge.drain(config.shutdown_ms)));
  const listeners = doors.use(await openListeners(edge, config, options.inherited));
  doors.defer(() => giveUp(STOPPING));
  isLent = listeners.isLent;
  await sleep(EARLY_MS);
  await answerEarly();

  const base = await openAgentBase({ ...options, loop }, stack);
  await answerEarly();
  const restart = createRestartRequest({ isStartedAgain: config.startedAgain, onRestart: options.onRestart });
  const parts = await createAgentParts(base, { ...options, restart }, { stack, files });
  await answerEarly();
  listenForResumes(parts, base.runClock);
  base.upstream.askBeforeHandshakes(() => mayHandshake(parts));
  stack.use(doors.move());
  await start(base, parts, listeners, options);
  parts.channel.start(options.signal, await openChannelTargets(edge, parts, options));
  parts.network.start();
  parts.programPolicy.start();
  parts.supervisor.start();
  open(base, parts);

  const running = stack.move();
  const kept = files.move();
  const stop = () => running.disposeAsync();
  return {
    addresses: listeners.addresses,
    statusLine: () => toStatusLine(base.board, listeners.addresses, parts.progress.state),
    // A question to the database itself would hold the event loop while the disk hangs, and nobody would be served.
    answers: () => probe.ask(),
    noteSettings(fault) {
      setSettingsPart(base.board, config);
      if (fault !== undefined) base.board.part('settings').set('degraded', `${NOT_TAKEN}: ${fault}`);
    },
    get mayRestart() {
      return parts.progress.state === 'awake' || parts.progress.state === 'resuming';
    },
    prepareRestart: () => prepareRestart({ base, parts, edge, stop }),
    abandon: () => parts.gateway.abandon(new RemoraError('shutting_down', 'the agent ended after an error of its own')),
    noteNotRestarted(reason, why) {
      restart.refuse(reason);
      if (why === 'resume')
        base.board.part('resume').set('degraded', `the agent was not started again after a resume: ${reason}`);
      base.hub.publish('restart_failed', { reason });
    },
    async [Symbol.asyncDispose]() {
      await stop();
      await kept.disposeAsync();
    },
  };
}

/** Answers those who have come while the event loop was held. */
async function answerEarly(): Promise<void> {
  for (let turn = 0; turn < TURNS; turn += 1) await nextTurn();
}

/** Whether a handshake may begin: none does after a resume that may have cloned the machine, in a process that is about to end for that. */
function mayHandshake({ resume }: AgentParts): boolean {
  resume.check();
  return resume.gate.closed !== 'resuming';
}

/** None where there is nobody to open a channel to. */
async function openChannelTargets(
  edge: Edge,
  parts: AgentParts,
  { env }: AgentOptions,
): Promise<readonly ChannelTarget[]> {
  if (parts.channel.status().state === 'off') return [];
  const { createChannelTargets } = await import('./channel-targets.ts');
  return createChannelTargets(edge, parts, env);
}

/** Starts the parts while the listeners serve. Resumes are looked for before anything goes out. */
async function start(base: AgentBase, parts: AgentParts, listeners: Listeners, options: AgentOptions): Promise<void> {
  const { hub, board } = base;
  const { restartState, signal } = options;
  base.loop.start();
  base.cost.start();
  base.spareMemory.start();
  const begun = { version: options.version, pid: process.pid };
  if (restartState === undefined) hub.publish('agent_started', begun);
  else hub.publish('agent_restarted', { ...begun, ms: Math.round(bootClock_ms() - restartState.begun_boot_ms) });
  parts.resume.start(signal, createRecoverySteps(parts, board.part('hooks')));
  if (restartState === undefined) parts.writeGeneration();
  parts.holds.start(restartState?.holds);
  parts.idle.start(signal);
  parts.machineStatus.start();
  // The report of a resume is a step of its recovery.
  parts.resumeReports.start(signal, parts.resume.isRecovering() ? 'in recovery' : 'now');
  await Promise.all([
    parts.gateway.start(signal, listeners.loopback),
    parts.ports.start(signal),
    parts.replication.start(signal),
  ]);
  // A machine that counts its restores may have some.
  if (parts.resume.signals().live.includes('generation')) {
    rehearseLater({ open: () => openUpstream(options.config), log: base.log, signal });
  }
}
