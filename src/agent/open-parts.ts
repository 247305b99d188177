// Opens what serves the operations of the agent: what the parts stand on, the parts in the order of their needs, and then the start. The agent
// can be reached before this is loaded.
import { RemoraError } from '../core/remora-error.ts';
import type { Edge } from '../http/edge.ts';
import type { LoopWatch } from '../http/loop-watch.ts';
import { createAuthenticator } from './access/authenticator.ts';
import type { AgentOptions } from './agent.ts';
import { type AgentBase, openAgentBase, openUpstream, setSettingsPart } from './agent-base.ts';
import type { AgentEdge } from './agent-edge.ts';
import { createAgentHandlers } from './agent-handlers.ts';
import { type AgentParts, createAgentParts, type Stacks } from './agent-parts.ts';
import { answerEarly } from './answer-early.ts';
import type { ChannelTarget } from './channel/channel-target.ts';
import { listenForResumes } from './listen-for-resumes.ts';
import type { Listeners } from './listeners.ts';
import { prepareRestart } from './prepare-restart.ts';
import { createRecoverySteps } from './recovery-steps.ts';
import type { RestartCause } from './restart/restart-cause.ts';
import { bootClock_ms } from './restart/restart-file.ts';
import { createRestartRequest } from './restart/restart-request.ts';
import type { RestartState } from './restart/restart-state.ts';
import { rehearseLater } from './resume/rehearse-resume.ts';
import type { DiskProbe } from './status/disk-probe.ts';
import { toStatusLine } from './systemd/status-line.ts';

/** The parts while they run, as the process that they are in sees them. */
export interface RunningParts {
  /** How the agent is, in one line. */
  statusLine(): string;
  /** Call it after the settings have been read again, with the fault when they cannot be used. */
  noteSettings(fault?: string): void;
  /** False from the request for a suspend until a resume or a refusal: a restart in between would leave the suspend half done. */
  mayRestart(): boolean;
  /** Ends what the next process opens itself, with `stop` as the last step, and gives what it needs besides. */
  prepareRestart(stop: () => Promise<void>): Promise<RestartState>;
  /** Cuts the gateway calls in flight and writes their records, before a process of unknown state ends. Takes at most two seconds. */
  abandon(): Promise<void>;
  /** Notes that this process goes on. After a resume it does so with randomness that a clone may share. */
  noteNotRestarted(reason: string, why: RestartCause): void;
}

export interface OpenPartsOptions extends AgentOptions, Pick<AgentEdge, 'open'> {
  readonly edge: Edge;
  readonly listeners: Listeners;
  readonly loop: LoopWatch;
  readonly probe: DiskProbe;
}

export interface StacksWithDoors extends Stacks {
  /** The listeners, which close before everything else. They are moved to `stack`. */
  readonly doors: AsyncDisposableStack;
}

const NOT_TAKEN = 'the settings were read again and cannot be used, so that the earlier ones are used';

/** Opens the parts and has the edge serve them. What fails is the state of a part. */
export async function openParts(options: OpenPartsOptions, stacks: StacksWithDoors): Promise<RunningParts> {
  const { config, edge, listeners } = options;
  const { stack, doors } = stacks;
  const base = await openAgentBase(options, stack);
  await answerEarly();
  const restart = createRestartRequest({ isStartedAgain: config.startedAgain, onRestart: options.onRestart });
  const parts = await createAgentParts(base, { ...options, restart }, stacks);
  await answerEarly();
  listenForResumes(parts, base.runClock);
  base.upstream.askBeforeHandshakes(() => mayHandshake(parts));
  stack.use(doors.move());
  await start(base, parts, listeners, options);
  parts.channel.start(options.signal, await openChannelTargets(edge, parts, options));
  parts.network.start();
  parts.programPolicy.start();
  parts.supervisor.start();
  const { verifyToken, onAccessRefusal: onRefused } = parts.gateway;
  options.open(createAgentHandlers(base, parts, options), createAuthenticator({ verifyToken, onRefused }));

  return {
    statusLine: () => toStatusLine(base.board, listeners.addresses, parts.progress.state),
    noteSettings(fault) {
      setSettingsPart(base.board, config);
      if (fault !== undefined) base.board.part('settings').set('degraded', `${NOT_TAKEN}: ${fault}`);
    },
    mayRestart: () => parts.progress.state === 'awake' || parts.progress.state === 'resuming',
    prepareRestart: (stop) => prepareRestart({ base, parts, edge, stop }),
    abandon: () => parts.gateway.abandon(new RemoraError('shutting_down', 'the agent ended after an error of its own')),
    noteNotRestarted(reason, why) {
      restart.refuse(reason);
      if (why === 'resume')
        base.board.part('resume').set('degraded', `the agent was not started again after a resume: ${reason}`);
      base.hub.publish('restart_failed', { reason });
    },
  };
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
