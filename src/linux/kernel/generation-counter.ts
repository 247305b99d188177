// Counts the interrupts that announce a new generation to a VM, without a driver, a privilege or an addon: the lines of
// ACPI:Ged or vmgenid where there are any, else the general purpose event of QEMU's PCs.
import { openSync, readdirSync, readFileSync, readSync } from 'node:fs';
import { join } from 'node:path';
import { rememberLast } from '../../core/remember-last.ts';
import type { GenerationCounts } from '../../core/resume/resume-sources.ts';
import { closeQuietly, REOPEN_MS } from './kept-file.ts';
import { isBareMetal, isGenerationLine, parseGpeCount, parsePerCpuCount } from './kernel-text.ts';

export interface GenerationCounter extends Disposable {
  /**
   * One count for each line. Looks for the lines again when one cannot be read; undefined while none is found. Never throws.
   */
  read(): GenerationCounts | undefined;
}

interface Line {
  readonly name: string;
  readonly descriptor: number;
  readonly parse: (text: string) => number | undefined;
}

const CHUNK_BYTES = 8 * 1024;

export function createGenerationCounter(procRoot: string, sysRoot: string, mono_ms: () => number): GenerationCounter {
  const chunk = Buffer.alloc(CHUNK_BYTES);
  let lines: Line[] = [];
  let searchAt_ms = Number.NEGATIVE_INFINITY;

  function close(): void {
    for (const line of lines) closeQuietly(line.descriptor);
    lines = [];
  }

  function search(): void {
    searchAt_ms = mono_ms() + REOPEN_MS;
    if (isBareMetal(readText(join(procRoot, 'cpuinfo')) ?? '')) return;
    const irqs = join(sysRoot, 'kernel/irq');
    for (const irq of list(irqs)) {
      if (!isGenerationLine(readText(join(irqs, irq, 'actions')) ?? '')) continue;
      addLine(`irq${irq}`, join(irqs, irq, 'per_cpu_count'), parsePerCpuCount);
    }
    if (lines.length === 0) addLine('gpe05', join(sysRoot, 'firmware/acpi/interrupts/gpe05'), parseGpeCount);
  }

  function addLine(name: string, path: string, parse: Line['parse']): void {
    if (parse(readText(path) ?? '') === undefined) return;
    lines.push({ name, descriptor: openSync(path, 'r'), parse: rememberLast(parse) });
  }

  function readLines(): GenerationCounts | undefined {
    const counts: Record<string, number> = {};
    for (const line of lines) {
      const count = line.parse(chunk.toString('latin1', 0, readSync(line.descriptor, chunk, 0, chunk.length, 0)));
      if (count === undefined) throw new Error(`${line.name} has no count`);
      counts[line.name] = count;
    }
    return lines.length === 0 ? undefined : counts;
  }

  function readOrClose(): GenerationCounts | undefined {
    try {
      return readLines();
    } catch {
      close();
      return undefined;
    }
  }

  return {
    read() {
      const hadLines = lines.length > 0;
      const counts = readOrClose();
      if (counts !== undefined) return counts;
      if (!hadLines && mono_ms() < searchAt_ms) return undefined;
      try {
        search();
      } catch {
        close();
      }
      return readOrClose();
    },
    [Symbol.dispose]: close,
  };
}

function list(path: string): string[] {
  try {
    return readdirSync(path);
  } catch {
    return [];
  }
}

function readText(path: string): string | undefined {
  try {
    return readFileSync(path, 'latin1');
  } catch {
    return undefined;
  }
}
