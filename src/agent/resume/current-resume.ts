// The resume that this machine is recovering from, or has recovered from last. Resumes that come before a recovery is over are one
// with the one before.
import type { Clock } from '../../core/clock.ts';
import { joinResumes, type Resume } from '../../core/resume/resume-record.ts';
import { type LastResume, toLastResume } from './last-resume.ts';

export interface CurrentResume {
  /** Takes a resume that is noticed now. `recovering`: the recovery from the one before is not over, so that both are one. */
  notice(resume: Resume, recovering: boolean): void;
  /** Takes the resume that the detector has joined to the one before, because it came within two seconds. The recovery starts over. */
  noticeAgain(resume: Resume): void;
  /** Takes the same resume with another sign of it. */
  describe(resume: Resume): void;
  /** Undefined when there was none since the boot. */
  readonly resume: Resume | undefined;
  /** The last resume as the API shows it; one from before the start of the agent has no `resume`. */
  readonly shown: LastResume | undefined;
}

export interface CurrentResumeOptions {
  readonly clock: Clock;
  readonly generation: () => number;
  /** What the former process of the agent knew. */
  readonly before: { readonly resume: Resume | undefined; readonly shown: LastResume | undefined };
}

interface About {
  readonly resume: Resume;
  /** The resume that the recovery belonged to before it started over. */
  readonly earlier: Resume | undefined;
  readonly wall_ms: number;
}

export function createCurrentResume({ clock, generation, before }: CurrentResumeOptions): CurrentResume {
  let { shown } = before;
  let about: About | undefined;
  if (before.resume !== undefined && shown !== undefined) {
    about = { resume: before.resume, earlier: undefined, wall_ms: Date.parse(shown.at) };
  }

  function set(resume: Resume, earlier: Resume | undefined, wall_ms: number): void {
    const whole = earlier === undefined ? resume : joinResumes(earlier, resume, true);
    about = { resume: whole, earlier, wall_ms };
    shown = toLastResume(whole, wall_ms, generation());
  }

  return {
    notice: (resume, recovering) => set(resume, recovering ? about?.resume : undefined, clock.wall_ms()),
    noticeAgain: (resume) => set(resume, about?.earlier, clock.wall_ms()),
    describe: (resume) => set(resume, about?.earlier, about?.wall_ms ?? clock.wall_ms()),
    get resume() {
      return about?.resume;
    },
    get shown() {
      return shown;
    },
  };
}
