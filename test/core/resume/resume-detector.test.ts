import { describe, expect, test } from 'vitest';
import type { Finding } from '../../../src/core/resume/finding.ts';
import { createResumeDetector, type ResumeDetector } from '../../../src/core/resume/resume-detector.ts';
import {
  createScriptedKernel,
  type ScriptedKernel,
  type ScriptedKernelOptions,
  slowSources,
} from '../../support/scripted-kernel.ts';

interface Watched {
  readonly kernel: ScriptedKernel;
  readonly detector: ResumeDetector;
  /** Ordinary time, with a tick every 250 ms; what was found in it. */
  run(ms: number): Finding[];
  /** One tick, now. */
  tick(): Finding[];
}

function watch(options: ScriptedKernelOptions = {}): Watched {
  const kernel = createScriptedKernel(options);
  const detector = createResumeDetector(kernel);
  kernel.onContinued(() => undefined);
  const tick = () => [...detector.tick()];
  const run = (ms: number) => {
    const found: Finding[] = [];
    for (let passed = 0; passed < ms; passed += 250) {
      kernel.run(250);
      found.push(...tick());
    }
    return found;
  };
  run(10_000);
  return { kernel, detector, run, tick };
}

/** The findings that are resumes, without what a test does not look at. */
function resumes(found: readonly Finding[]) {
  return found.flatMap((finding) => ('resume' in finding ? [{ type: finding.type, ...finding.resume }] : []));
}

describe('every row of the measurements', () => {
  const rows: readonly {
    readonly name: string;
    readonly options?: ScriptedKernelOptions;
    readonly happen: (kernel: ScriptedKernel) => void;
    readonly cause: string | undefined;
    readonly certainty?: string;
    readonly signals?: readonly string[];
    readonly gap_ms?: readonly [number, number] | null;
    readonly skew_ms?: readonly [number, number] | null;
  }[] = [
    {
      name: 'a restore in a new VM process',
      happen: (kernel) => kernel.restore(14_000),
      cause: 'restore',
      certainty: 'certain',
      signals: ['generation', 'rtc'],
      gap_ms: [13_000, 15_000],
      skew_ms: [13_000, 15_000],
    },
    {
      name: 'the same on a kernel without a hardware clock',
      options: { without: ['rtc'] },
      happen: (kernel) => kernel.restore(14_000),
      cause: 'restore',
      certainty: 'certain',
      signals: ['generation'],
      gap_ms: null,
      skew_ms: null,
    },
    {
      name: 'a rewind',
      happen: (kernel) => kernel.rewind(),
      cause: 'restore',
      certainty: 'certain',
      signals: ['generation'],
      gap_ms: null,
    },
    {
      name: 'a pause with the clock frozen',
      happen: (kernel) => kernel.pauseFrozen(12_000),
      cause: 'vm_paused_silent',
      certainty: 'likely',
      signals: ['rtc'],
      gap_ms: [11_000, 13_000],
      skew_ms: [11_000, 13_000],
    },
    {
      name: 'a pause with the clock running',
      happen: (kernel) => kernel.pauseRunning(12_100),
      cause: 'vm_paused',
      certainty: 'likely',
      signals: ['timer_gap'],
      gap_ms: [12_000, 12_500],
    },
    {
      name: 'a sleep of the guest',
      happen: (kernel) => kernel.guestSleep(16_500),
      cause: 'guest_sleep',
      certainty: 'certain',
      signals: ['boot_clock'],
      gap_ms: [16_500, 16_500],
      skew_ms: [0, 0],
    },
    {
      name: 'a stop of our process',
      happen: (kernel) => kernel.stop(12_100),
      cause: 'process_stopped',
      certainty: 'likely',
      signals: ['timer_gap'],
      gap_ms: [12_000, 12_500],
      skew_ms: [0, 0],
    },
    { name: 'a busy loop of our own', happen: (kernel) => kernel.block(3_100), cause: undefined },
  ];

  for (const row of rows) {
    test(row.name, () => {
      const { kernel, run, tick } = watch(row.options);
      row.happen(kernel);
      const found = resumes([...tick(), ...run(20_000)]);
      expect(found.map(({ type, cause }) => [type, cause])).toEqual(
        row.cause === undefined ? [] : [['resume', row.cause]],
      );
      const [resume] = found;
      if (resume === undefined) return;
      expect(resume.certainty).toBe(row.certainty);
      expect(resume.signals).toEqual(row.signals);
      expect(resume.restores).toBe(1);
      for (const [value, range] of [
        [resume.gap_ms, row.gap_ms],
        [resume.wall_skew_ms, row.skew_ms],
      ] as const) {
        if (range === null) expect(value).toBeNull();
        else if (range !== undefined) {
          expect(value).toBeGreaterThanOrEqual(range[0]);
          expect(value).toBeLessThanOrEqual(range[1]);
        }
      }
    });
  }

  test('the busy loop is counted as a stall', () => {
    const { kernel, tick } = watch();
    kernel.block(3_100);
    expect(tick()).toEqual([{ type: 'stall', why: 'busy', gap_ms: 3_100 }]);
  });

  test('a pause with the clock frozen goes unnoticed where no clock and no counter shows it', () => {
    const { kernel, run, detector } = watch({ without: ['rtc'] });
    kernel.pauseFrozen(12_000);
    expect(run(20_000)).toEqual([]);
    expect(detector.signals().blind_spots.join()).toMatch(/clock frozen/);
  });
});

describe('a pause in place with the clocks frozen', () => {
  const size_s = (detector: ResumeDetector) =>
    Number(/less than ([\d.]+) s/.exec(detector.signals().blind_spots.join())?.[1]);

  test('shorter than the blind spot that is told may be seen by nothing, and the blind spot is told', () => {
    const { kernel, run, detector } = watch();
    kernel.pauseFrozen(2_000);
    expect(run(20_000)).toEqual([]);
    expect(size_s(detector)).toBeGreaterThan(2);
  });

  test('of the size that is told is seen, wherever in a second it begins', () => {
    for (let begin_ms = 0; begin_ms < 1_000; begin_ms += 50) {
      const { kernel, run, detector } = watch();
      kernel.run(begin_ms);
      kernel.pauseFrozen(size_s(detector) * 1_000);
      expect(resumes(run(20_000)), `${begin_ms}`).toMatchObject([{ cause: 'vm_paused_silent' }]);
    }
  });
});

describe('the generation counter', () => {
  test('is seen at the next guarded action, before any tick', () => {
    const { kernel, detector } = watch({ without: ['rtc'] });
    kernel.restore();
    expect(resumes(detector.check())).toMatchObject([{ type: 'resume', cause: 'restore' }]);
    expect(detector.check()).toEqual([]);
  });

  test('three restores within two seconds are one resume', () => {
    const { kernel, run } = watch({ without: ['rtc'] });
    const found: Finding[] = [];
    for (let count = 0; count < 3; count += 1) {
      kernel.restore();
      found.push(...run(250));
    }
    const seen = resumes([...found, ...run(5_000)]);
    expect(seen.map(({ type, restores }) => [type, restores])).toEqual([
      ['resume', 1],
      ['again', 2],
      ['again', 3],
    ]);
  });

  test('three restores between two looks are one resume', () => {
    const { kernel, run } = watch();
    for (let count = 0; count < 3; count += 1) kernel.restore(1_000);
    expect(resumes(run(5_000))).toMatchObject([{ type: 'resume', restores: 3 }]);
  });

  test('that shows a restore keeps the ticks from all slower sources for a second, in which callers are answered', () => {
    const { kernel, run } = watch();
    kernel.restore();
    const before = kernel.interruptReads;
    expect(resumes(run(1_000))).toHaveLength(1);
    expect(kernel.interruptReads).toBe(before);
    run(500);
    expect(kernel.interruptReads).toBeGreaterThan(before);
  });

  test('restores further apart are resumes of their own', () => {
    const { kernel, run } = watch();
    kernel.restore();
    const first = run(3_000);
    kernel.restore();
    expect(resumes([...first, ...run(3_000)]).map(({ type, restores }) => [type, restores])).toEqual([
      ['resume', 1],
      ['resume', 1],
    ]);
  });

  test('that fails is reported once, and what happened meanwhile is seen when it is back', () => {
    const { kernel, run, detector } = watch();
    kernel.lose('generation');
    expect(run(5_000)).toEqual([{ type: 'signal_lost', source: 'generation' }]);
    expect(detector.signals()).toMatchObject({ missing: expect.arrayContaining(['generation']) });
    kernel.restore(0);
    expect(run(1_000)).toEqual([]);
    kernel.find('generation');
    const found = run(1_000);
    expect(found).toContainEqual({ type: 'signal_found', source: 'generation' });
    expect(resumes(found)).toMatchObject([{ cause: 'restore' }]);
    expect(detector.signals().live).toContain('generation');
  });
});

describe('sources that take 150 ms at the first look after a restore', () => {
  test.each(slowSources)('%s: the restore is one resume', (source) => {
    const { kernel, run } = watch();
    kernel.delay(source, 150);
    kernel.restore(14_000);
    const found = resumes(run(40_000));
    expect(found.filter(({ type }) => type !== 'more')).toMatchObject([{ type: 'resume', cause: 'restore' }]);
    expect(found.at(-1)).toMatchObject({ cause: 'restore', certainty: 'certain', restores: 1 });
    expect(found.at(-1)?.gap_ms).toBeGreaterThan(12_000);
  });

  test.each(slowSources)('%s: a sleep of the guest on a machine without a counter is one resume', (source) => {
    const { kernel, run } = watch({ without: ['generation'] });
    kernel.guestSleep(16_500);
    kernel.delay(source, 150);
    const found = resumes(run(40_000));
    expect(found.filter(({ type }) => type !== 'more')).toHaveLength(1);
    expect(found.at(-1)).toMatchObject({ cause: 'guest_sleep', certainty: 'certain', restores: 1 });
  });

  test('all of them: the restore is one resume', () => {
    const { kernel, run } = watch();
    for (const source of slowSources) kernel.delay(source, 150);
    kernel.restore(14_000);
    const found = resumes(run(40_000));
    expect(found.filter(({ type }) => type !== 'more')).toMatchObject([{ cause: 'restore' }]);
  });

  test('a pause after the source was read again is a resume of its own', () => {
    const { kernel, run } = watch();
    kernel.delay('rtc', 150);
    kernel.restore(14_000);
    run(10_000);
    kernel.pauseFrozen(12_000);
    expect(resumes(run(20_000))).toMatchObject([{ type: 'resume', cause: 'vm_paused_silent' }]);
  });
});

describe('a source that fails while another one notices a resume', () => {
  test('generation: what it shows later belongs to that resume', () => {
    const { kernel, run } = watch();
    kernel.lose('generation');
    run(1_000);
    kernel.restore(14_000);
    expect(resumes(run(10_000))).toMatchObject([{ type: 'resume', cause: 'vm_paused_silent' }]);
    kernel.find('generation');
    expect(resumes(run(10_000))).toMatchObject([{ type: 'more', cause: 'restore', certainty: 'certain', restores: 1 }]);
  });

  test('rtc: what it shows later belongs to that resume', () => {
    const { kernel, run } = watch();
    kernel.lose('rtc');
    run(1_000);
    kernel.restore(14_000);
    expect(resumes(run(10_000))).toMatchObject([{ type: 'resume', cause: 'restore' }]);
    kernel.find('rtc');
    expect(resumes(run(10_000))).toMatchObject([{ type: 'more', cause: 'restore', restores: 1 }]);
  });
});

describe('a pause of five seconds with the clocks running', () => {
  const costs = [0, 0.3, 15];
  /** Moments between two readings of the figures that tell a pause from a stop. */
  const moments = [250, 500, 750, 1_000, 2_250, 3_500, 9_750, 29_500];
  const rows = costs.flatMap((cost_ms) => moments.map((moment_ms) => ({ cost_ms, moment_ms })));
  const settled = (cost_ms: number) => {
    const watched = watch();
    watched.kernel.setCost(cost_ms);
    watched.run(60_000);
    return watched;
  };

  test.each(rows)('is a pause of the VM on a quiet machine: $cost_ms ms a reading, $moment_ms ms on', (row) => {
    const { kernel, run, tick } = settled(row.cost_ms);
    run(row.moment_ms);
    kernel.pauseRunning(5_000);
    expect(resumes(tick())).toMatchObject([{ cause: 'vm_paused' }]);
  });

  test.each(rows)('is one under load: $cost_ms ms a reading, $moment_ms ms on', (row) => {
    const { kernel, tick } = settled(row.cost_ms);
    for (let passed = 0; passed < 30_000 + row.moment_ms; passed += 250) {
      kernel.load(250);
      tick();
    }
    kernel.pauseRunning(5_000);
    expect(resumes(tick())).toMatchObject([{ cause: 'vm_paused' }]);
  });

  test.each(rows)('is one with much to do right after it: $cost_ms ms a reading, $moment_ms ms on', (row) => {
    const { kernel, run, tick } = settled(row.cost_ms);
    run(row.moment_ms);
    kernel.pauseRunning(5_000);
    kernel.catchUp(600);
    expect(resumes(tick())).toMatchObject([{ cause: 'vm_paused' }]);
  });

  test.each(rows)('is one with much to do right before and after it: $cost_ms ms, $moment_ms ms on', (row) => {
    const { kernel, run, tick } = settled(row.cost_ms);
    run(row.moment_ms);
    kernel.catchUp(100);
    kernel.pauseRunning(5_000);
    kernel.catchUp(1_500);
    expect(resumes(tick())).toMatchObject([{ cause: 'vm_paused', certainty: 'likely' }]);
  });

  test.each([100, 250, 300, 1_000])('is one whatever the rate of the timer: %i Hz', (hz) => {
    for (const happen of ['pauseRunning', 'freeze'] as const) {
      const { kernel, run, tick } = watch({ hz });
      kernel.load(2_000);
      run(2_000);
      kernel[happen](5_000);
      kernel.catchUp(600);
      const cause = happen === 'freeze' ? 'process_stopped' : 'vm_paused';
      expect(resumes([...tick(), ...run(2_000)])).toMatchObject([{ cause }]);
    }
  });

  test.each([0.01, 0.1, 0.5, 1, 2])('a freezer that holds our process is none, with %f CPUs busy', (busy) => {
    const { kernel, run, tick } = settled(0.3);
    run(500);
    kernel.freeze(5_000, busy);
    expect(resumes(tick())).toMatchObject([{ cause: 'process_stopped', certainty: 'likely' }]);
  });

  test('is a pause when our own loop had work to do, and had to wait for a CPU after it too', () => {
    const { kernel, run, tick } = settled(0.3);
    run(500);
    kernel.pauseWaiting(5_000);
    kernel.catchUp(1_000);
    expect(resumes(tick())).toMatchObject([{ cause: 'vm_paused' }]);
  });

  test('is none in a sandbox where the times of the CPUs stand still and our process was stopped', () => {
    const { kernel, run, tick } = watch({ stillCpus: true });
    run(500);
    kernel.stop(5_000);
    expect(resumes(tick())).toMatchObject([{ cause: 'process_stopped' }]);
  });

  test('is a pause, perhaps, where the times of the CPUs are not to be had', () => {
    const { kernel, run, tick } = watch({ without: ['steal'] });
    run(500);
    kernel.pauseRunning(5_000);
    expect(resumes(tick())).toMatchObject([{ cause: 'vm_paused' }]);
  });

  test.each(rows)('a stop of our process is none: $cost_ms ms a reading, $moment_ms ms on', (row) => {
    const { kernel, run, tick } = settled(row.cost_ms);
    run(row.moment_ms);
    kernel.stop(5_000);
    expect(resumes(tick())).toMatchObject([{ cause: 'process_stopped' }]);
  });

  test.each(rows)('a busy loop under load is none: $cost_ms ms a reading, $moment_ms ms on', (row) => {
    const { kernel, tick } = settled(row.cost_ms);
    for (let passed = 0; passed < row.moment_ms; passed += 250) {
      kernel.load(250);
      tick();
    }
    kernel.block(5_000);
    expect(resumes(tick())).toEqual([]);
  });

  test.each([
    { cost_ms: 0.01, most: 4 * 60 },
    { cost_ms: 0.3, most: 100 },
    { cost_ms: 15, most: 21 },
  ])('a reading of $cost_ms ms is made at most $most times a minute', ({ cost_ms, most }) => {
    const { kernel, run } = settled(cost_ms);
    const before = kernel.interruptReads;
    run(60_000);
    expect(kernel.interruptReads - before).toBeLessThanOrEqual(most);
    expect(kernel.interruptReads - before).toBeGreaterThan(15);
  });

  test('one reading that takes long does not thin out the next ones', () => {
    const { kernel, run } = settled(0.01);
    kernel.delay('interrupts', 150);
    run(250);
    const before = kernel.interruptReads;
    run(2_000);
    expect(kernel.interruptReads - before).toBeGreaterThanOrEqual(7);
  });
});

describe('a wall clock that is set', () => {
  for (const step_ms of [3_600_000, -600_000]) {
    test(`by ${step_ms} ms is one step and no resume`, () => {
      const { kernel, run } = watch();
      kernel.stepWall(step_ms);
      expect(run(20_000)).toEqual([{ type: 'clock_stepped', step_ms }]);
    });

    test(`by ${step_ms} ms after a restore is its correction and no second resume`, () => {
      const { kernel, run } = watch();
      kernel.restore(14_000);
      expect(resumes(run(60_000))).toHaveLength(1);
      kernel.stepWall(step_ms);
      expect(run(20_000)).toEqual([{ type: 'clock_corrected', step_ms }]);
    });
  }

  test('and then written into the hardware clock is no resume', () => {
    const { kernel, run } = watch();
    kernel.stepWall(3_600_000);
    run(60_000);
    kernel.writeRtc();
    expect(run(20_000)).toEqual([]);
  });

  test('on a machine whose hardware clock keeps local time still shows a pause', () => {
    const { kernel, run } = watch({ rtcZone_ms: -5 * 3_600_000 });
    kernel.pauseFrozen(12_000);
    expect(resumes(run(6_000))).toMatchObject([{ cause: 'vm_paused_silent' }]);
  });

  test('while a suspend was accepted is a resume, because nobody sets clocks just then', () => {
    const { kernel, run, detector } = watch({ without: ['generation', 'rtc'] });
    detector.setFence(true);
    kernel.stepWall(30_000);
    expect(resumes(run(1_000))).toMatchObject([{ cause: 'vm_paused_silent', signals: ['wall_clock', 'fence'] }]);
  });

  test('by less than half a second is noise', () => {
    const { kernel, run } = watch();
    kernel.stepWall(400);
    expect(run(5_000)).toEqual([]);
  });

  test('put right by the host right after a pause, before the hardware clock was read, is the pause', () => {
    const { kernel, run } = watch();
    kernel.pauseFrozen(12_000);
    kernel.stepWall(12_000);
    expect(resumes(run(6_000))).toMatchObject([{ cause: 'vm_paused_silent', certainty: 'possible' }]);
  });
});

describe('a machine that gets no CPU', () => {
  test('for five seconds with most of it stolen is not resumed', () => {
    const { kernel, run, tick } = watch();
    kernel.starve(5_000);
    expect(tick()).toEqual([{ type: 'stall', why: 'starved', gap_ms: 5_000 }]);
    expect(resumes(run(20_000))).toEqual([]);
  });

  test('in bursts is not resumed either', () => {
    const { kernel, tick } = watch();
    const found: Finding[] = [];
    for (let burst = 0; burst < 10; burst += 1) {
      kernel.starve(1_700);
      found.push(...tick());
    }
    expect(resumes(found)).toEqual([]);
  });

  test('for longer than starvation lasts was paused, perhaps, once', () => {
    const { kernel, run, tick } = watch();
    kernel.starve(60_000);
    const found = resumes([...tick(), ...run(20_000)]);
    expect(found).toMatchObject([{ type: 'resume', cause: 'vm_paused', certainty: 'possible' }]);
  });

  test('because of others inside the guest is not resumed', () => {
    const { kernel, tick } = watch();
    kernel.crowd(4_000);
    expect(tick()).toEqual([{ type: 'stall', why: 'starved', gap_ms: 4_000 }]);
  });
});

describe('a stop of our process', () => {
  test('that SIGCONT ended is certain, whichever is seen first', () => {
    const first = watch();
    first.kernel.stop(4_000);
    expect(resumes(first.detector.noteContinued()).at(-1)).toMatchObject({
      cause: 'process_stopped',
      certainty: 'certain',
      signals: ['timer_gap', 'continued'],
    });
    const later = watch();
    later.kernel.stop(4_000);
    later.tick();
    expect(resumes(later.detector.noteContinued())).toMatchObject([
      { type: 'more', certainty: 'certain', restores: 1 },
    ]);
  });

  test('that is short counts only when a suspend was accepted', () => {
    const { kernel, detector } = watch();
    kernel.stop(700);
    expect(detector.noteContinued()).toEqual([]);
    detector.setFence(true);
    kernel.stop(700);
    expect(resumes(detector.noteContinued())).toMatchObject([{ type: 'resume', signals: ['continued', 'fence'] }]);
  });

  describe('for a copy that the host counted', () => {
    const held: Finding[] = [{ type: 'stall', why: 'held', gap_ms: 4_000 }];

    test.each(['SIGCONT', 'a tick'])('is a stall, first seen by %s, also while a suspend was accepted', (first) => {
      const { kernel, detector, tick } = watch();
      detector.setFence(true);
      kernel.countPauses({ copies: 1, resumes: 0 });
      kernel.stop(4_000);
      expect([first === 'a tick' ? tick() : [], detector.noteContinued()].flat()).toEqual(held);
      expect(tick()).toEqual([]);
    });

    test('that is short says nothing about the stop after it', () => {
      const { kernel, detector, tick } = watch();
      kernel.countPauses({ copies: 1, resumes: 0 });
      kernel.stop(300);
      expect(detector.noteContinued()).toEqual([]);
      kernel.stop(4_000);
      expect(resumes(tick())).toMatchObject([{ type: 'resume', cause: 'process_stopped' }]);
    });

    test('is a resume when a suspend came with it, was counted too, and is all that SIGCONT is about', () => {
      const { kernel, detector } = watch();
      kernel.countPauses({ copies: 1, resumes: 1 });
      kernel.stop(4_000);
      expect(resumes(detector.noteContinued()).at(-1)).toMatchObject({ cause: 'process_stopped' });
      const { kernel: second, detector: fenced } = watch();
      second.countPauses({ copies: 1, resumes: 0 });
      second.stop(300);
      fenced.noteContinued();
      fenced.setFence(true);
      second.countPauses({ copies: 1, resumes: 1 });
      second.stop(300);
      expect(resumes(fenced.noteContinued())).toMatchObject([{ type: 'resume', signals: ['continued', 'fence'] }]);
    });

    test('is a resume when it was longer than any copy, or the machine was restored meanwhile', () => {
      const { kernel, detector } = watch();
      kernel.countPauses({ copies: 1, resumes: 0 });
      kernel.stop(31_000);
      expect(resumes(detector.noteContinued())).toMatchObject([{ type: 'resume', cause: 'process_stopped' }]);
      const { kernel: restored, tick } = watch();
      restored.countPauses({ copies: 1, resumes: 0 });
      restored.stop(4_000);
      restored.restore(14_000);
      expect(resumes(tick())).toMatchObject([{ type: 'resume', cause: 'restore' }]);
    });

    test('is a resume when the counts were begun again', () => {
      const { kernel, detector, tick } = watch();
      kernel.countPauses({ copies: 2, resumes: 1 });
      kernel.stop(300);
      detector.noteContinued();
      kernel.run(5_000);
      tick();
      kernel.countPauses({ copies: 0, resumes: 1 });
      kernel.stop(4_000);
      expect(resumes(tick())).toMatchObject([{ type: 'resume', cause: 'process_stopped' }]);
    });

    test('counts that cannot be read, or are gone, say nothing', () => {
      const { kernel, tick } = watch();
      kernel.countPauses(undefined);
      kernel.stop(4_000);
      expect(resumes(tick())).toMatchObject([{ type: 'resume' }]);
    });
  });

  test('on a machine that counts no timer interrupts is a pause, perhaps', () => {
    const { kernel, tick } = watch({ without: ['interrupts'] });
    kernel.stop(4_000);
    expect(resumes(tick())).toMatchObject([{ cause: 'vm_paused', certainty: 'possible' }]);
  });
});

describe('a poke', () => {
  test('is a resume of its own on a machine that saw nothing', () => {
    const { detector } = watch();
    expect(resumes(detector.poke(false))).toMatchObject([{ type: 'resume', cause: 'poke', signals: ['poke'] }]);
  });

  test('finds what was not looked at yet, and joins it', () => {
    const { kernel, detector } = watch();
    kernel.restore();
    const found = resumes(detector.poke(false));
    expect(found.map(({ type }) => type)).toEqual(['resume', 'more']);
    expect(found.at(-1)).toMatchObject({ cause: 'restore', signals: ['generation', 'rtc', 'poke'], restores: 1 });
  });

  test('joins a resume that is still being dealt with, and is a new one after that', () => {
    const { kernel, run, detector } = watch();
    kernel.restore();
    run(5_000);
    expect(resumes(detector.poke(true))).toMatchObject([{ type: 'more', cause: 'restore' }]);
    expect(resumes(detector.poke(false))).toMatchObject([{ type: 'resume', cause: 'poke' }]);
  });
});

describe('the Date of upstream answers', () => {
  const date = (kernel: ScriptedKernel, off_ms = 0) => Math.floor((kernel.truth_ms + off_ms) / 1_000) * 1_000;

  test('shows a pause that no clock of the machine shows, once, and surer when two agree', () => {
    const { kernel, detector, run } = watch({ without: ['generation', 'rtc'] });
    detector.noteDate('https://a', date(kernel));
    detector.noteDate('https://b', date(kernel, 40_000));
    kernel.pauseFrozen(12_000);
    expect(run(3_000)).toEqual([]);
    const first = resumes(detector.noteDate('https://a', date(kernel)));
    expect(first).toMatchObject([{ type: 'resume', cause: 'external_time', certainty: 'possible' }]);
    expect(first[0]?.wall_skew_ms).toBeGreaterThan(10_000);
    expect(resumes(detector.noteDate('https://b', date(kernel, 40_000)))).toMatchObject([
      { type: 'more', cause: 'external_time', certainty: 'likely', restores: 1 },
    ]);
    expect(resumes(detector.noteDate('https://a', date(kernel)))).toEqual([]);
  });

  test('measures a restore that is known already', () => {
    const { kernel, detector, run } = watch({ without: ['rtc'] });
    detector.noteDate('https://a', date(kernel));
    kernel.restore(14_000);
    expect(resumes(run(5_000))).toMatchObject([{ type: 'resume', gap_ms: null }]);
    const found = resumes(detector.noteDate('https://a', date(kernel)));
    expect(found).toMatchObject([{ type: 'more', cause: 'restore', restores: 1 }]);
    expect(found[0]?.gap_ms).toBeGreaterThan(12_000);
  });

  test('of a platform whose clock is off, or late, or drifts, says nothing', () => {
    const { kernel, detector, run } = watch();
    for (let hour = 0; hour < 24; hour += 1) {
      expect(resumes(detector.noteDate('https://off', date(kernel, 90_000)))).toEqual([]);
      expect(resumes(detector.noteDate('https://late', date(kernel, -20_000 * (hour % 2))))).toEqual([]);
      expect(resumes(detector.noteDate('https://drifts', date(kernel, hour * 300)))).toEqual([]);
      kernel.stepWall(60_000);
      run(250);
      for (let minute = 0; minute < 60; minute += 1) {
        kernel.block(60_000);
        detector.tick();
      }
    }
  });

  test('in an answer that this process took late is no measure for the next one', () => {
    const { kernel, detector, run } = watch({ without: ['rtc', 'generation'] });
    detector.noteDate('https://a', date(kernel, -6_000), 6_500);
    expect(resumes(detector.noteDate('https://a', date(kernel), 10))).toEqual([]);
    run(1_000);
    detector.noteDate('https://a', date(kernel, -5_000), 5_500);
    kernel.pauseFrozen(12_000);
    expect(resumes(detector.noteDate('https://a', date(kernel), 10))).toMatchObject([{ type: 'resume' }]);
  });

  test('of a platform that set its clock back is compared with the new time', () => {
    const { kernel, detector, run } = watch({ without: ['rtc', 'generation'] });
    detector.noteDate('https://a', date(kernel, 60_000));
    for (let answer = 0; answer < 3; answer += 1) {
      run(1_000);
      detector.noteDate('https://a', date(kernel));
    }
    kernel.pauseFrozen(20_000);
    expect(resumes(detector.noteDate('https://a', date(kernel)))).toMatchObject([{ type: 'resume' }]);
  });
});

describe('connections that break', () => {
  test('make every clock be read at once', () => {
    const { kernel, detector } = watch();
    kernel.pauseFrozen(12_000);
    expect(detector.noteFailure('https://a')).toEqual([]);
    const found = resumes(detector.noteFailure('https://b'));
    expect(found[0]).toMatchObject({ type: 'resume', cause: 'vm_paused_silent', signals: ['rtc'] });
    expect(found.at(-1)).toMatchObject({ signals: ['rtc', 'failing_origins'], restores: 1 });
  });

  test('support what an upstream Date shows right after', () => {
    const { kernel, run, detector } = watch({ without: ['rtc'] });
    detector.noteDate('https://a', kernel.truth_ms);
    kernel.pauseFrozen(12_000);
    detector.noteFailure('https://a');
    detector.noteFailure('https://b');
    run(1_000);
    expect(resumes(detector.noteDate('https://a', kernel.truth_ms))).toMatchObject([
      { cause: 'external_time', signals: ['upstream_date', 'failing_origins'] },
    ]);
  });

  test('are an outage and no resume when nothing else tells of one', () => {
    for (const without of [[], ['rtc', 'generation']] as const) {
      const { run, detector } = watch({ without });
      expect([...detector.noteFailure('https://a'), ...detector.noteFailure('https://b'), ...run(20_000)]).toEqual([]);
    }
  });

  test('at one origin, or far apart, are not looked into', () => {
    const { kernel, run, detector } = watch();
    detector.noteFailure('https://a');
    run(3_000);
    kernel.pauseFrozen(12_000);
    expect([...detector.noteFailure('https://b'), ...detector.noteFailure('https://b')]).toEqual([]);
  });
});

test('a Date that comes long after a restore, the first one since, measures it and is no second resume', () => {
  const { kernel, run, detector } = watch({ without: ['rtc'] });
  detector.noteDate('https://a', kernel.truth_ms);
  kernel.restore(14_000);
  expect(resumes(run(15 * 60_000))).toHaveLength(1);
  expect(resumes(detector.noteDate('https://a', kernel.truth_ms))).toMatchObject([{ type: 'more', cause: 'restore' }]);
});

test('a quiet day with loops that are late now and then finds nothing', () => {
  const { kernel, run, tick } = watch();
  const found: Finding[] = [];
  for (let hour = 0; hour < 24; hour += 1) {
    kernel.crowd(1_400);
    found.push(...tick(), ...run(10_000));
  }
  expect(found).toEqual([]);
});

test('the lists of sources name every one of them', () => {
  const { detector } = watch({ without: ['generation', 'rtc', 'boot', 'interrupts', 'steal', 'run_queue'] });
  const { live, missing, blind_spots } = detector.signals();
  expect(live).toEqual(['timer_gap', 'wall_clock', 'poke']);
  expect(missing).toHaveLength(7);
  expect(blind_spots).toHaveLength(7);
});
