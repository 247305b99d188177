// What the resume detector finds: a resume, or what looked like one and is none.
import type { SourceName } from '../../contract/local/resume.ts';
import type { Resume } from './resume-record.ts';

export type Finding =
  /** `resume`: a new one. `again`: another within two seconds; recovery starts over. `more`: another sign of the last one. */
  | { readonly type: 'resume' | 'again' | 'more'; readonly resume: Resume }
  | { readonly type: 'stall'; readonly why: 'busy' | 'starved' | 'held'; readonly gap_ms: number }
  /** The wall clock moved against run time: after a resume, or by itself. */
  | { readonly type: 'clock_corrected' | 'clock_stepped'; readonly step_ms: number }
  | { readonly type: 'signal_lost' | 'signal_found'; readonly source: SourceName };
