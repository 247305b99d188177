// The steps of a recovery that run after the gate has opened, one after the other as they are listed here. `resume/resume.ts` has
// the steps before.
import type { AgentParts } from './agent-parts.ts';
import { HOOKS_DEADLINE_MS } from './hooks/hooks.ts';
import { runPostResume } from './hooks/run-post-resume.ts';
import type { Part } from './parts.ts';
import type { Step } from './resume/run-step.ts';

/** The function is called at each resume, because the platform may have changed the spread of the reports. */
export function createRecoverySteps(parts: AgentParts, hooksPart: Part): () => readonly Step[] {
  const { staleSockets, resumeReports, channel, gateway, replication, ports, hooks, resume } = parts;
  return () => [
    ...staleSockets.steps,
    ...resumeReports.steps(),
    { name: 'channel', deadline_ms: 2_000, run: () => channel.recover() },
    { name: 'policy', deadline_ms: 2_000, run: () => gateway.recover() },
    { name: 'stream', deadline_ms: 5_000, run: () => replication.recover() },
    { name: 'ports', deadline_ms: 1_000, run: () => ports.recover() },
    {
      name: 'hooks',
      deadline_ms: HOOKS_DEADLINE_MS + 1_000,
      run: () => runPostResume(hooks, resume.lastResume(), hooksPart),
    },
  ];
}
