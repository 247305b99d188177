// The operations that the agent serves: those of its parts, and those about itself.
import { agentOperations } from '../contract/agent-operations.ts';
import type { SignalStatus } from '../contract/local/resume.ts';
import type { Edge } from '../http/edge.ts';
import type { EdgeHandlers } from '../http/handler.ts';
import type { Caller } from './access/authenticator.ts';
import type { AgentBase } from './agent-base.ts';
import type { AgentParts } from './agent-parts.ts';
import type { Config } from './config/load-config.ts';
import { createEventHandlers } from './events/event-handlers.ts';
import { createHoldHandlers } from './holds/hold-handlers.ts';
import { findSharedRandomness } from './resume/shared-randomness.ts';
import { createDiskCheck } from './status/disk-check.ts';
import type { DiskProbe } from './status/disk-probe.ts';
import { createInfo } from './status/info.ts';
import { createStatus } from './status/status.ts';
import { readSupervisor } from './supervisor/read-supervisor.ts';

export type AgentHandlers = EdgeHandlers<typeof agentOperations, Caller>;

export interface AgentHandlersOptions {
  readonly config: Config;
  readonly edge: Pick<Edge, 'streams'>;
  readonly probe: DiskProbe;
  readonly version: string;
}

export function createAgentHandlers(base: AgentBase, parts: AgentParts, options: AgentHandlersOptions): AgentHandlers {
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
