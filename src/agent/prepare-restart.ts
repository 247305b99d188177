// Ends the agent for its next process: callers are answered, then the parts stop, and what only memory holds is the restart state.
import { RemoraError } from '../core/remora-error.ts';
import type { Edge } from '../http/edge.ts';
import { readBootId } from '../linux/boot-id.ts';
import type { AgentBase } from './agent-base.ts';
import type { AgentParts } from './agent-parts.ts';
import { bootClock_ms } from './restart/restart-file.ts';
import type { RestartState } from './restart/restart-state.ts';

/** Equals how long local callers wait for the gate of a resume. */
const DRAIN_LIMIT_MS = 2_000;
const RESTARTING = new RemoraError('resuming', 'the agent is being started again; try again', { retryAfter_ms: 1_000 });

export interface RestartingAgent {
  readonly base: AgentBase;
  readonly parts: AgentParts;
  readonly edge: Edge;
  /** Stops everything but the files that stay. */
  readonly stop: () => Promise<void>;
}

/** Who waits for the gate of a resume is refused at once: it does not open in this process any more. */
export async function prepareRestart(agent: RestartingAgent): Promise<RestartState> {
  const { hub, upstream } = agent.base;
  const { resume, holds, interlock, machine } = agent.parts;
  const begun_boot_ms = bootClock_ms();
  interlock.refuse(RESTARTING);
  const toRestartResume = resume.prepareRestart();
  holds.keepConnections();
  if (resume.isRecovering()) resume.gate.refuse(RESTARTING);
  await agent.edge.handOver(DRAIN_LIMIT_MS, { onDeadline: () => void upstream.replace(), error: RESTARTING });
  const { last } = machine.suspender;
  const lastSuspend = last === undefined ? {} : { lastSuspend: last };
  await agent.stop();
  const known = { holds: holds.toRestartState(), resume: toRestartResume(), events: [...hub.kept], ...lastSuspend };
  return { boot_id: readBootId() ?? '', begun_boot_ms, ...known };
}
