// The boot clock and the hardware clock, compared with run time: they run on while the guest sleeps or the VM stands still.
import { takeInstant } from './instant.ts';
import { judgeRtc, type RtcSample, type RtcVerdict, toRtcZone_ms } from './rtc-step.ts';
import type { WakeSources } from './wake-sources.ts';

/** Two clocks that were read further apart say nothing about each other: the CPU was elsewhere in between. */
const TORN_MS = 100;

export interface SlowClocks {
  /** How long the guest slept since the last reading; undefined without a boot clock. */
  readBoot(): number | undefined;
  /** What the hardware clock says about the time since its last reading; undefined without one. */
  readRtc(): RtcVerdict | undefined;
}

export function createSlowClocks(sources: WakeSources): SlowClocks {
  let bootOffset_ms: number | undefined;
  let rtc: RtcSample | undefined;
  let zone_ms = 0;
  return {
    readBoot() {
      const before_ms = sources.mono_ms();
      const boot_ms = sources.boot_ms();
      if (boot_ms === undefined) return undefined;
      const mono_ms = sources.mono_ms();
      if (mono_ms - before_ms > TORN_MS) return 0;
      const offset_ms = boot_ms - mono_ms;
      const slept_ms = offset_ms - (bootOffset_ms ?? offset_ms);
      bootOffset_ms = offset_ms;
      return slept_ms;
    },
    readRtc() {
      const instant = takeInstant(sources);
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
