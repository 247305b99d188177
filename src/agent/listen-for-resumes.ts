// What each part does at the moment a resume is noticed, and at the moment its recovery is done. What takes longer is a step of the
// recovery: see recovery-steps.ts.
import type { RunClock } from '../core/run-clock.ts';
import type { AgentParts } from './agent-parts.ts';
import type { LastResume } from './resume/last-resume.ts';

/** Registers them in the order in which they run. One that throws is logged and keeps none of the others from running. */
export function listenForResumes(parts: AgentParts, runClock: RunClock): void {
  const { resume, staleSockets, resumeReports, gateway, channel, holds, idle, machine } = parts;
  resume.onResumed(() => staleSockets.onResumed());
  resume.onResumed(() => resumeReports.onResumed());
  resume.onResumed(() => gateway.onResumed());
  resume.onResumed(() => resume.afterCallers(channel.onResumed()));
  resume.onResumed(() => resume.afterCallers(parts.writeGeneration));
  // The clock of a process that goes on with a recovery has begun after the gap.
  resume.onResumed(() => {
    if (!resume.isContinued()) runClock.skip(toRunningGap(resume.lastResume()));
  });
  resume.onResumed(() => holds.onResumed());
  resume.onResumed(() => idle.onResumed());
  resume.onResumed(() => machine.suspender.onResumed());

  resume.onRecovered(() => machine.suspender.onRecovered());
}

/** How long the monotonic clock ran while the processes stood still. It is 0 on a machine that was restored or slept. */
function toRunningGap(resume: LastResume | undefined): number {
  const ranOn = resume?.cause === 'process_stopped' || resume?.cause === 'vm_paused';
  return ranOn ? (resume.gap_ms ?? 0) : 0;
}
