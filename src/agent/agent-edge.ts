// What the agent serves: the operations of its parts and those about itself, at every listener that is opened on the edge. It can be reached
// before the parts are open: what needs one waits until then.
import { agentOperations } from '../contract/agent-operations.ts';
import type { SignalStatus } from '../contract/local/resume.ts';
import { toLoggedPath } from '../core/gateway/capability-text.ts';
import type { Log } from '../core/log.ts';
import { createEdge, type Edge } from '../http/edge.ts';
import type { EdgeHandlers } from '../http/handler.ts';
import type { LoopWatch } from '../http/loop-watch.ts';
import { isServedAt } from '../http/served-at.ts';
import { type Caller, createAuthenticator, toListenerName } from './access/authenticator.ts';
import type { AgentBase } from './agent-base.ts';
import type { AgentParts } from './agent-parts.ts';
import type { Config } from './config/load-config.ts';
import { createEventHandlers } from './events/event-handlers.ts';
import { createHoldHandlers } from './holds/hold-handlers.ts';
import { findSharedRandomness } from './resume/shared-randomness.ts';
import { createDiskCheck } from './status/disk-check.ts';
import type { DiskProbe } from './status/disk-probe.ts';
import { createInfo } from './status/info.ts';
import { createStatus, health } from './status/status.ts';
import { readSupervisor } from './supervisor/read-supervisor.ts';

/** Open event streams for each caller and each listener. All callers of one Unix socket count as one. */
const STREAM_LIMITS = { ofCaller: 64, ofListener: 512 };

type AgentHandlers = EdgeHandlers<typeof agentOperations, Caller>;
type Authenticate = ReturnType<typeof createAuthenticator>;

export interface AgentEdgeOptions {
  readonly config: Config;
  readonly log: Log;
  readonly loop: LoopWatch;
  readonly probe: DiskProbe;
  readonly version: string;
  /** Checks every answer against the schema of its operation, for tests. */
  readonly checkAnswers?: boolean;
}

export interface AgentEdge {
  readonly edge: Edge;
  /** Serves every operation from here on, with these parts. */
  open(base: AgentBase, parts: AgentParts): void;
  /** Refuses what waits for the parts, which will not be opened. */
  giveUp(reason: Error): void;
}

/** Answers `health`, which needs no part, until it is opened; every other request waits. */
export function createAgentEdge(options: AgentEdgeOptions): AgentEdge {
  const { loop, log } = options;
  // Those that are not there yet are asked for by requests that wait until they are.
  const handlers = { health } as AgentHandlers;
  const opened = Promise.withResolvers<Authenticate>();
  opened.promise.catch(() => undefined);
  let authenticate: Authenticate = (request, operation, listener) => {
    const name = toListenerName(listener);
    const needsNobody = operation === agentOperations.health && name !== 'loopback';
    if (needsNobody && isServedAt(operation, name)) return { listener: name };
    return opened.promise.then((admit) => admit(request, operation, listener));
  };
  const edge = createEdge<typeof agentOperations, Caller>({
    operations: agentOperations,
    handlers,
    authenticate: (request, operation, listener) => authenticate(request, operation, listener),
    until: (caller) => caller.until,
    // Each capability token has its own signal. Callers of a Unix socket cannot be distinguished.
    callerOf: (caller) => caller.until,
    streamLimits: STREAM_LIMITS,
    loop,
    log,
    toLoggedPath,
    ...(options.checkAnswers === undefined ? {} : { checkAnswers: options.checkAnswers }),
  });
  return {
    edge,
    open(base, parts) {
      const { verifyToken, onAccessRefusal: onRefused } = parts.gateway;
      Object.assign(handlers, createHandlers(base, parts, { ...options, edge }));
      authenticate = createAuthenticator({ verifyToken, onRefused });
      opened.resolve(authenticate);
    },
    giveUp: opened.reject,
  };
}

function createHandlers(
  base: AgentBase,
  parts: AgentParts,
  options: AgentEdgeOptions & Pick<AgentEdge, 'edge'>,
): AgentHandlers {
  const { clock, board, cost, hub, incarnation } = base;
  const { gateway, ports, replication, resume, resumeReports } = parts;
  const { config, version, edge } = options;
  const status = createStatus({
    version,
    clock,
    config,
    board,
    cost,
    operations: () => agentOperations,
    live: () => ({
      generation: incarnation.generation,
      incarnation: incarnation.incarnation,
      state: parts.progress.state,
      streams: edge.streams,
      seq: hub.seq,
      gatewayCalls: gateway.callCounts(),
    }),
    async details() {
      // First, because it may take several turns.
      const whole = await replication.wholeStatus();
      return {
        ports: ports.status(),
        replication: whole,
        resume: toSignals(parts, config, incarnation.generation),
        report: resumeReports.status(),
        channel: parts.channel.status(),
        hooks: parts.hooks.describe(),
        supervisor: readSupervisor(config.stateDir),
        program_policy: parts.programPolicy.describe(),
        generation_file: parts.generationFile.describe(),
      };
    },
  });
  return {
    ...status,
    ...createInfo({ version, config, gateway }),
    ...createDiskCheck({ probe: options.probe, clock }),
    ...createEventHandlers(hub),
    ...parts.machine.handlers,
    ...createHoldHandlers(parts.holds, parts.sleep.beforeHold),
    ...parts.idle.handlers,
    ...parts.sleep.handlers,
    ...resume.handlers,
    ...gateway.handlers,
    ...ports.handlers,
    ...replication.handlers,
    ...parts.supervisor.handlers,
    ...parts.ownSprite,
    ...parts.network.handlers,
    ...parts.programPolicy.handlers,
    ...parts.upgrade.handlers,
  };
}

const KEPT_RANDOMNESS =
  'rng: nobody is known to start the agent again, so that the TLS libraries of two copies of this machine draw the same numbers; run it under systemd with its unit, or set started_again';

/** The signals of the detector, with what goes unnoticed for other reasons. */
function toSignals(
  { resume, resumeReports, generationPath }: AgentParts,
  config: Pick<Config, 'resumeRng' | 'startedAgain'>,
  generation: number,
): SignalStatus {
  const signals = resume.signals();
  const shared = findSharedRandomness({ generationFile: generationPath }, generation);
  const kept = config.resumeRng === 'restart' && !config.startedAgain ? [KEPT_RANDOMNESS] : [];
  const more = [...resumeReports.blindSpots(), ...(shared === undefined ? [] : [shared]), ...kept];
  return { ...signals, blind_spots: [...signals.blind_spots, ...more] };
}
