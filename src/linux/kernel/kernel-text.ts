// Parses the files of /proc and /sys into numbers. Each function returns undefined for text of another form.
import type { CpuTimes } from '../../core/resume/resume-sources.ts';

/** USER_HZ: the unit of /proc/stat on every architecture of Linux. */
const TICK_MS = 10;

/** /proc/uptime: seconds since the boot, sleep included. */
export function parseUptime_ms(text: string): number | undefined {
  const match = /^(\d+(?:\.\d+)?)/.exec(text);
  return match?.[1] === undefined ? undefined : Number(match[1]) * 1_000;
}

/** /sys/class/rtc/rtc0/since_epoch: whole seconds. */
export function parseSinceEpoch_ms(text: string): number | undefined {
  return /^\d{1,12}\s*$/.test(text) ? Number(text) * 1_000 : undefined;
}

/** /proc/interrupts: local timer interrupts of all CPUs; other architectures name the timer at the end of its line. */
export function parseTimerInterrupts(text: string): number | undefined {
  const line = /^ *LOC:((?: +\d+)+)/m.exec(text) ?? /^ *\d+:((?: +\d+)+) .*\b(?:arch_timer|riscv-timer)$/m.exec(text);
  return line?.[1] === undefined ? undefined : sum(line[1].trim().split(/ +/));
}

/** True once `parseTimerInterrupts` will find its line in a text that may go on. */
export function hasTimerInterrupts(text: string): boolean {
  const at = text.indexOf('LOC:');
  return at >= 0 && text.indexOf('\n', at) >= 0;
}

/** /proc/stat, a line for each CPU: user, nice, system, idle, waiting for disks, interrupts of both kinds, stolen. */
export function parseCpuTimes(text: string): CpuTimes[] | undefined {
  const cpus: CpuTimes[] = [];
  for (const [, line = ''] of text.matchAll(/^cpu\d+((?: \d+){8})/gm)) {
    const [user = 0, nice = 0, system = 0, idle = 0, disks = 0, hard = 0, soft = 0, stolen = 0] = line
      .trim()
      .split(' ')
      .map((figure) => Number(figure) * TICK_MS);
    cpus.push({ busy_ms: user + nice + system + hard + soft, idle_ms: idle + disks, stolen_ms: stolen });
  }
  return cpus.length === 0 ? undefined : cpus;
}

/** True once every CPU line of /proc/stat is there. */
export function hasCpuLines(text: string): boolean {
  return text.includes('\nintr');
}

/** /proc/thread-self/schedstat: time on a CPU, time in the run queue (both in nanoseconds), number of slices. */
export function parseRunQueueWait_ms(text: string): number | undefined {
  const match = /^\d+ (\d+) \d+/.exec(text);
  return match?.[1] === undefined ? undefined : Number(match[1]) / 1e6;
}

/** /sys/kernel/irq/<n>/per_cpu_count: one figure a CPU, with commas between them. */
export function parsePerCpuCount(text: string): number | undefined {
  return /^\d+(?:,\d+)*\s*$/.test(text) ? sum(text.trim().split(',')) : undefined;
}

/** /sys/firmware/acpi/interrupts/gpe05: the count and the state of the event; one without a handler is `invalid`. */
export function parseGpeCount(text: string): number | undefined {
  const match = /^ *(\d+)\s/.exec(text);
  return match?.[1] === undefined || text.includes('invalid') ? undefined : Number(match[1]);
}

/** /sys/kernel/irq/<n>/actions: who handles the line. */
export function isGenerationLine(actions: string): boolean {
  return actions
    .trim()
    .split(',')
    .some((action) => action === 'ACPI:Ged' || action === 'vmgenid');
}

/** /proc/cpuinfo of an x86 machine that is no VM: its ACPI events mean other things. */
export function isBareMetal(cpuinfo: string): boolean {
  const flags = /^flags\s*:(.*)$/m.exec(cpuinfo)?.[1];
  return flags !== undefined && !/\bhypervisor\b/.test(flags);
}

function sum(figures: readonly string[]): number {
  return figures.reduce((total, figure) => total + Number(figure), 0);
}
