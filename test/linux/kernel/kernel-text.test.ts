import { describe, expect, test } from 'vitest';
import {
  hasCpuLines,
  hasTimerInterrupts,
  isBareMetal,
  isGenerationLine,
  parseCpuTimes,
  parseGpeCount,
  parsePerCpuCount,
  parseRunQueueWait_ms,
  parseSinceEpoch_ms,
  parseTimerInterrupts,
  parseUptime_ms,
} from '../../../src/linux/kernel/kernel-text.ts';

const x86 = `           CPU0       CPU1
 24:          1          0  IO-APIC   5-edge      ACPI:Ged
NMI:          0          0   Non-maskable interrupts
LOC:      42615      40492   Local timer interrupts
SPU:          0          0   Spurious interrupts
`;
const arm = `           CPU0       CPU1
 11:      70001      60002     GICv3  27 Level     arch_timer
IPI0:       120        130       Rescheduling interrupts
`;
const stat = `cpu  7488 0 4690 366608 290 0 54 24 0 0
cpu0 3341 0 1866 184216 35 0 12 11 0 0
cpu1 4147 0 2824 182392 255 0 42 13 0 0
intr 4400 0 0
`;

const cases: readonly (readonly [string, unknown, unknown])[] = [
  ['uptime', parseUptime_ms('1900.77 3666.01\n'), 1_900_770],
  ['an empty uptime', parseUptime_ms(''), undefined],
  ['the hardware clock', parseSinceEpoch_ms('1764000000\n'), 1_764_000_000_000],
  ['a hardware clock that answers words', parseSinceEpoch_ms('unknown\n'), undefined],
  ['timer interrupts of x86', parseTimerInterrupts(x86), 42_615 + 40_492],
  ['timer interrupts of arm', parseTimerInterrupts(arm), 70_001 + 60_002],
  ['no timer interrupts', parseTimerInterrupts('           CPU0\n'), undefined],
  [
    'what each CPU did',
    parseCpuTimes(stat),
    [
      { busy_ms: 52_190, idle_ms: 1_842_510, stolen_ms: 110 },
      { busy_ms: 70_130, idle_ms: 1_826_470, stolen_ms: 130 },
    ],
  ],
  ['a kernel that counts no steal', parseCpuTimes('cpu  1 2 3 4\ncpu0 1 2 3 4\n'), undefined],
  ['run queue wait', parseRunQueueWait_ms('270963170 126458000 11\n'), 126.458],
  ['a schedstat of zeros', parseRunQueueWait_ms('0 0 0\n'), 0],
  ['a count of several CPUs', parsePerCpuCount('1,0,2\n'), 3],
  ['a count that is none', parsePerCpuCount('(null)\n'), undefined],
  ['an event of QEMU', parseGpeCount('       7     EN     enabled      unmasked\n'), 7],
  ['an event without a handler', parseGpeCount('       0            invalid      unmasked\n'), undefined],
];

for (const [name, value, expected] of cases) test(`reads ${name}`, () => expect(value).toEqual(expected));

describe('the end of what has to be read', () => {
  test('is the whole timer line', () => {
    expect(hasTimerInterrupts(x86)).toBe(true);
    expect(hasTimerInterrupts(x86.slice(0, x86.indexOf('LOC:') + 20))).toBe(false);
  });
  test('is the line after the CPUs', () => {
    expect(hasCpuLines(stat)).toBe(true);
    expect(hasCpuLines(stat.slice(0, 60))).toBe(false);
  });
});

test('knows the lines that a new generation fires', () => {
  expect(['ACPI:Ged\n', 'vmgenid\n', 'foo,vmgenid\n'].map(isGenerationLine)).toEqual([true, true, true]);
  expect(['ttyS0\n', '', 'virtio0-config\n', 'ACPI:Gedx\n'].map(isGenerationLine)).toEqual([
    false,
    false,
    false,
    false,
  ]);
});

test('knows a PC that is no virtual machine', () => {
  expect(isBareMetal('flags\t\t: fpu vme sse2\n')).toBe(true);
  expect(isBareMetal('flags\t\t: fpu vme hypervisor sse2\n')).toBe(false);
  expect(isBareMetal('Features\t: fp asimd\n')).toBe(false);
});
