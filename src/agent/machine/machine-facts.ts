// Reads this machine's facts for the four conditions of a suspend (Suspend and Replication): from its configuration where the
// machines API shows it, else from its environment and the kernel.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { MachineFacts } from '../../core/machine/suspend-eligibility.ts';

/** The fields of the machines API's record that are used here; each may be absent. */
export interface MachineConfig {
  readonly memory_mb?: number;
  readonly schedule?: string | null;
  readonly updated_at?: string;
  /** True where the kernel belongs to the host (the `process` driver), so that its memory and swap say nothing here. */
  readonly sharedKernel?: boolean;
}

export interface FactSources {
  readonly procRoot: string;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** `config` is undefined when the machines API did not answer. Never throws: a fact that cannot be read is undefined. */
export function readMachineFacts(config: MachineConfig | undefined, sources: FactSources): MachineFacts {
  const shared = config?.sharedKernel === true;
  return {
    memory_mb: config?.memory_mb ?? envMemory(sources.env) ?? (shared ? undefined : kernelMemory(sources.procRoot)),
    swap_mb: shared ? 0 : kernelSwap(sources.procRoot),
    schedule: config === undefined ? undefined : (config.schedule ?? null),
    updated_at: config?.updated_at,
  };
}

function envMemory(env: FactSources['env']): number | undefined {
  const value = Number(env.FLY_VM_MEMORY_MB);
  return Number.isFinite(value) && value > 0 ? value : undefined;
}

function kernelMemory(procRoot: string): number | undefined {
  const kilobytes = /^MemTotal:\s+(\d+) kB$/m.exec(read(join(procRoot, 'meminfo')) ?? '')?.[1];
  return kilobytes === undefined ? undefined : Math.round(Number(kilobytes) / 1_024);
}

/** /proc/swaps is a header and one line per area, its size in kB in the third column. */
function kernelSwap(procRoot: string): number | undefined {
  const text = read(join(procRoot, 'swaps'));
  if (text === undefined) return undefined;
  const lines = text.split('\n').slice(1);
  const kilobytes = lines.reduce((sum, line) => sum + (Number(line.split(/\s+/)[2]) || 0), 0);
  return Math.ceil(kilobytes / 1_024);
}

function read(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}
