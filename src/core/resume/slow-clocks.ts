// The boot clock and the hardware clock, compared with run time: they run on while the guest sleeps or the VM stands still.
import { readInstant } from './instant.ts';
import type { ResumeSources } from './resume-sources.ts';
import { judgeRtc, type RtcSample, type RtcVerdict, toRtcZone_ms } from './rtc-step.ts';

/** Two clocks that were read further apart say nothing about each other: other work had the CPU in between. */
const TORN_MS = 100;

export interface Sleep {
  readonly slept_ms: number;
  /** Run time of the reading that this one is compared with. */
  readonly from_mono_ms: number;
}

export interface SlowClocks {
  /** How long the guest slept since the last reading; undefined without a boot clock. */
  readBoot(): Sleep | undefined;
  /** What the hardware clock shows about the time since its last reading; undefined without a hardware clock. */
  readRtc(): RtcVerdict | undefined;
}

export function createSlowClocks(sources: ResumeSources): SlowClocks {
  let boot: { readonly offset_ms: number; readonly mono_ms: number } | undefined;
  let rtc: RtcSample | undefined;
  let zone_ms = 0;
  return {
    readBoot() {
      const before_ms = sources.mono_ms();
      const boot_ms = sources.boot_ms();
      if (boot_ms === undefined) return undefined;
      const mono_ms = sources.mono_ms();
      if (mono_ms - before_ms > TORN_MS) return { slept_ms: 0, from_mono_ms: mono_ms };
      const offset_ms = boot_ms - mono_ms;
      const earlier = boot ?? { offset_ms, mono_ms };
      boot = { offset_ms, mono_ms };
      return { slept_ms: offset_ms - earlier.offset_ms, from_mono_ms: earlier.mono_ms };
    },
    readRtc() {
      const instant = readInstant(sources);
      const rtc_ms = sources.rtc_ms();
      if (rtc_ms === undefined) return undefined;
      if (sources.mono_ms() - instant.mono_ms > TORN_MS) return { type: 'nothing' };
      const sample = { ...instant, rtc_ms };
      if (rtc === undefined) zone_ms = toRtcZone_ms(sample);
      const verdict: RtcVerdict = rtc === undefined ? { type: 'nothing' } : judgeRtc(rtc, sample, zone_ms);
      rtc = sample;
      return verdict;
    },
  };
}
