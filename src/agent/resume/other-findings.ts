// Takes the findings of the resume detector that begin no recovery: stalls, clocks that were set, and signals that are lost or found.
// Stalls and steps of the clock are counted for /v1/status; steps of the clock and signals are published as events.
import type { SignalStatus } from '../../contract/local/resume.ts';
import type { Finding } from '../../core/resume/finding.ts';
import type { EventHub } from '../events/event-hub.ts';

export type OtherFinding = Exclude<Finding, { readonly type: 'resume' | 'again' | 'more' }>;

export interface OtherFindings {
  note(finding: OtherFinding): void;
  counts(): Pick<SignalStatus, 'stalls' | 'clock_steps'>;
}

/** `onCounter` is called when the VM generation counter is lost or found. */
export function createOtherFindings(hub: Pick<EventHub, 'publish'>, onCounter: () => void): OtherFindings {
  const stalls = { busy: 0, starved: 0, held: 0, longest_ms: 0 };
  let clockSteps = 0;
  return {
    note(finding) {
      switch (finding.type) {
        case 'stall':
          stalls[finding.why] += 1;
          stalls.longest_ms = Math.max(stalls.longest_ms, finding.gap_ms);
          return;
        case 'clock_stepped':
        case 'clock_corrected':
          clockSteps += 1;
          hub.publish(finding.type, { step_ms: finding.step_ms });
          return;
        case 'signal_lost':
        case 'signal_found':
          hub.publish(finding.type, { signal: finding.source });
          if (finding.source === 'generation') onCounter();
          return;
        default:
          finding satisfies never;
      }
    },
    counts: () => ({ stalls: { ...stalls }, clock_steps: clockSteps }),
  };
}
