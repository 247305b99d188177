// Which sources of the detector are live on this machine, which are missing, and what goes unnoticed without these.
import type { SourceName } from '../../contract/local/resume.ts';
import { RTC_SURE_MS } from './rtc-step.ts';

/** What goes unnoticed, or is recognized less surely, without a source. */
const withoutIt: Readonly<Partial<Record<SourceName, string>>> = {
  generation:
    'no VM generation counter: a restore with clocks that fit is noticed only by the hardware clock, an upstream Date or a poke',
  rtc: 'no hardware clock: a pause with the clock frozen is noticed only by an upstream Date or a poke',
  boot_clock: 'no boot clock: a sleep of the guest is noticed only as a step of the wall clock',
  timer_interrupts:
    'no timer interrupt count: a pause of the VM and a stop of this process are not told apart, nor a busy loop for sure',
  steal: 'no steal time: a guest that is starved of CPU by its host may look like a paused one',
  run_queue: 'no run queue figures: a process that is starved of CPU inside the guest may look like a stopped one',
};
const unseenDate = 'no upstream answered with a Date yet: time that passed outside cannot be compared';

/** Holds on every machine: a hardware clock cannot show it, because it counts seconds. */
const shortPause = `a pause in place of less than ${RTC_SURE_MS / 1_000} s with the clocks frozen: the hardware clock counts whole seconds, so only a poke is sure to tell of it`;

export interface SignalChange {
  readonly source: SourceName;
  readonly live: boolean;
}

export interface SignalBoard {
  /** Records whether a source was read just now. Returns the change, if it is one and not the first reading. */
  saw(source: SourceName, live: boolean): SignalChange | undefined;
  readonly live: SourceName[];
  readonly missing: SourceName[];
  readonly blindSpots: string[];
}

export function createSignalBoard(): SignalBoard {
  const states = new Map<SourceName, boolean>([
    ['timer_gap', true],
    ['wall_clock', true],
    ['upstream_date', false],
    ['poke', true],
  ]);
  const named = (live: boolean) => [...states].filter(([, state]) => state === live).map(([source]) => source);
  return {
    saw(source, live) {
      const before = states.get(source);
      if (before === live) return undefined;
      states.set(source, live);
      return before === undefined ? undefined : { source, live };
    },
    get live() {
      return named(true);
    },
    get missing() {
      return named(false);
    },
    get blindSpots() {
      const unseen = named(false).map((source) =>
        source === 'upstream_date' ? unseenDate : (withoutIt[source] ?? source),
      );
      return states.get('rtc') === true ? [...unseen, shortPause] : unseen;
    },
  };
}
