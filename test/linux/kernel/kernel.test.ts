import { existsSync, readdirSync, readlinkSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createKernel, type Kernel, type KernelOptions } from '../../../src/linux/kernel/kernel.ts';
import { isGenerationLine } from '../../../src/linux/kernel/kernel-text.ts';
import { createKernelTree } from '../../support/kernel-tree.ts';
import { readIfThere } from '../../support/read-if-there.ts';
import { soon } from '../../support/soon.ts';
import { tempDir } from '../../support/temp-dir.ts';

function openKernel(options?: KernelOptions): Kernel {
  const kernel = createKernel(options);
  onTestFinished(() => kernel[Symbol.dispose]());
  return kernel;
}

describe('on a machine of files', () => {
  test('the generation is counted over all CPUs and read again each time', () => {
    const tree = createKernelTree();
    tree.write('sys/kernel/irq/25/actions', 'vmgenid\n');
    tree.write('sys/kernel/irq/25/per_cpu_count', '3\n');
    tree.write('sys/kernel/irq/26/actions', 'ttyS0\n');
    tree.write('sys/kernel/irq/26/per_cpu_count', '900,900\n');
    const kernel = openKernel(tree);
    expect(kernel.generation()).toEqual({ irq24: 1, irq25: 3 });
    tree.write('sys/kernel/irq/24/per_cpu_count', '1,1\n');
    expect(kernel.generation()).toEqual({ irq24: 2, irq25: 3 });
  });

  test('without such a line the general purpose event counts', () => {
    const tree = createKernelTree();
    tree.remove('sys/kernel/irq');
    tree.write('sys/firmware/acpi/interrupts/gpe05', '       4     EN     enabled      unmasked\n');
    expect(openKernel(tree).generation()).toEqual({ gpe05: 4 });
  });

  test('a PC that is no virtual machine has no generation', () => {
    const tree = createKernelTree();
    tree.write('proc/cpuinfo', 'flags\t\t: fpu sse2\n');
    expect(openKernel(tree).generation()).toBeUndefined();
  });

  test('a line that breaks is looked for again at once, and found under another number', () => {
    const tree = createKernelTree();
    const kernel = openKernel(tree);
    expect(kernel.generation()).toEqual({ irq24: 1 });
    tree.write('sys/kernel/irq/24/per_cpu_count', '');
    tree.write('sys/kernel/irq/31/actions', 'ACPI:Ged\n');
    tree.write('sys/kernel/irq/31/per_cpu_count', '5,0\n');
    expect(kernel.generation()).toEqual({ irq31: 5 });
  });

  test('a line that is gone is undefined and no error', () => {
    const tree = createKernelTree();
    const kernel = openKernel(tree);
    kernel.generation();
    tree.write('sys/kernel/irq/24/per_cpu_count', '');
    tree.remove('sys/kernel/irq');
    expect(kernel.generation()).toBeUndefined();
    expect(kernel.generation()).toBeUndefined();
  });

  test('the clocks and counters are read from its files', () => {
    const tree = createKernelTree();
    tree.write('proc/uptime', '100.50 3.00\n');
    tree.write('proc/interrupts', `CPU0\n${' 1: 2 x\n'.repeat(9_000)}LOC: 7 8 Local timer interrupts\n`);
    tree.write('proc/stat', 'cpu  1 2 3 4 5 6 7 8\ncpu0 1 2 3 4 5 6 7 8 9 0\nintr 5\n');
    tree.write('proc/thread-self/schedstat', '5 6000000 7\n');
    tree.write('proc/sys/kernel/random/boot_id', 'b007\n');
    tree.write('sys/class/rtc/rtc0/since_epoch', '1764000000\n');
    const kernel = openKernel(tree);
    expect(kernel.boot_ms()).toBe(100_500);
    expect(kernel.timerInterrupts()).toBe(15);
    expect(kernel.cpus()).toEqual([{ busy_ms: 190, idle_ms: 90, stolen_ms: 80 }]);
    expect(kernel.runQueueWait_ms()).toBe(6);
    expect(kernel.bootId()).toBe('b007');
    expect(kernel.rtc_ms()).toBe(1_764_000_000_000);
    tree.write('sys/class/rtc/rtc0/since_epoch', '1764000009\n');
    expect(kernel.rtc_ms()).toBe(1_764_000_009_000);
  });

  test('that has nothing at all answers undefined everywhere', () => {
    const root = tempDir();
    const kernel = openKernel({ procRoot: root, sysRoot: root });
    expect([
      kernel.generation(),
      kernel.boot_ms(),
      kernel.rtc_ms(),
      kernel.timerInterrupts(),
      kernel.cpus(),
      kernel.runQueueWait_ms(),
      kernel.bootId(),
    ]).toEqual(Array(7).fill(undefined));
  });
});

describe.skipIf(!existsSync('/proc/uptime'))('on this machine', () => {
  test('the clocks agree about how much time passes', async () => {
    const kernel = openKernel();
    // Again, when the process stood still between two of the readings.
    await soon(async () => {
      const before = [kernel.mono_ms(), kernel.wall_ms(), kernel.boot_ms() ?? Number.NaN] as const;
      await sleep(300);
      const after = [kernel.mono_ms(), kernel.wall_ms(), kernel.boot_ms() ?? Number.NaN] as const;
      const passed_ms = after[0] - before[0];
      expect(passed_ms).toBeGreaterThanOrEqual(299);
      expect(Math.abs(after[1] - before[1] - passed_ms)).toBeLessThan(100);
      expect(Math.abs(after[2] - before[2] - passed_ms)).toBeLessThan(100);
    });
  });

  test('a busy loop shows as own CPU time and as timer interrupts', () => {
    const kernel = openKernel();
    const cpu_ms = kernel.ownCpu_ms() ?? Number.NaN;
    const interrupts = kernel.timerInterrupts() ?? Number.NaN;
    // A machine with other work gives this process a small share of its time.
    const end_ms = performance.now() + 60_000;
    while (performance.now() < end_ms && (kernel.ownCpu_ms() ?? 0) - cpu_ms <= 20);
    expect((kernel.ownCpu_ms() ?? 0) - cpu_ms).toBeGreaterThan(20);
    expect((kernel.timerInterrupts() ?? 0) - interrupts).toBeGreaterThan(0);
  });

  test('the generation is read where a line for it exists, and stands still', () => {
    const lines = list('/sys/kernel/irq').filter((irq) => isGenerationLine(text(`/sys/kernel/irq/${irq}/actions`)));
    const kernel = openKernel();
    const counts = kernel.generation();
    if (lines.length > 0) expect(Object.keys(counts ?? {}).sort()).toEqual(lines.map((irq) => `irq${irq}`).sort());
    expect(kernel.generation()).toEqual(counts);
  });

  test('SIGCONT is told until it is no longer wanted', async () => {
    const kernel = openKernel();
    const listeners = process.listenerCount('SIGCONT');
    let times = 0;
    const told = new Promise<void>((resolve) => {
      const off = kernel.onContinued(() => {
        times += 1;
        off();
        resolve();
      });
    });
    process.kill(process.pid, 'SIGCONT');
    await told;
    expect(times).toBe(1);
    expect(process.listenerCount('SIGCONT')).toBe(listeners);
  });

  test('descriptors are kept while it is used and gone afterwards', () => {
    const before = openFiles();
    const kernel = createKernel();
    for (let times = 0; times < 5; times += 1) {
      kernel.generation();
      kernel.boot_ms();
      kernel.rtc_ms();
      kernel.timerInterrupts();
    }
    const during = openFiles();
    kernel[Symbol.dispose]();
    expect(during).toBeGreaterThan(before);
    expect(openFiles()).toBe(before);
  });
});

/** How many files of the kernel are open. What else this process has open may change by itself. */
function openFiles(): number {
  return list('/proc/self/fd').filter((fd) => /^\/(?:proc|sys)\//.test(targetOf(`/proc/self/fd/${fd}`))).length;
}

function targetOf(link: string): string {
  try {
    return readlinkSync(link);
  } catch {
    return '';
  }
}

function list(path: string): string[] {
  return existsSync(path) ? readdirSync(path) : [];
}

function text(path: string): string {
  return readIfThere(path, 'latin1') ?? '';
}
