// Ends the agent for its next image: callers are answered, then the parts stop, and what only memory holds is the restart state.
import { RemoraError } from '../core/remora-error.ts';
import type { Edge } from '../http/edge.ts';
import type { AgentBase } from './agent-base.ts';
import type { AgentParts } from './agent-parts.ts';
import type { RestartSocket, RestartState } from './hot-restart/restart-state.ts';

/** Equals how long local callers wait for the gate of a resume. */
const DRAIN_LIMIT_MS = 2_000;
const REPLACING = 'the agent is replacing its process image; try again';

export interface RestartingAgent {
  readonly base: AgentBase;
  readonly parts: AgentParts;
  readonly edge: Edge;
  /** Stops everything but what stays in the file system. */
  readonly stop: () => Promise<void>;
}

/** `sockets` are those that the next image serves: they are part of the state. `duplicate` makes another descriptor of a connection. */
export async function prepareRestart(
  agent: RestartingAgent,
  sockets: readonly RestartSocket[],
  duplicate: (fd: number) => number,
): Promise<RestartState> {
  const { clock, hub, upstream } = agent.base;
  const { resume, holds, interlock, machine, upgrade } = agent.parts;
  const begun_wall_ms = clock.wall_ms();
  interlock.refuse(new RemoraError('resuming', REPLACING, { retryAfter_ms: 1_000 }));
  const toRestartResume = resume.prepareRestart();
  holds.keepConnections();
  const waiting = upgrade.handOver(duplicate);
  await agent.edge.handOver(DRAIN_LIMIT_MS, { onDeadline: () => void upstream.replace() });
  const { last } = machine.suspender;
  const lastSuspend = last === undefined ? {} : { lastSuspend: last };
  await agent.stop();
  const known = { holds: holds.toRestartState(), resume: toRestartResume(), events: [...hub.kept], ...lastSuspend };
  const upgraded = waiting === undefined ? {} : { upgrade: waiting };
  return { begun_wall_ms, sockets: [...sockets], ...known, ...upgraded };
}
