// Reads the machine's record at the machines API and keeps it for a short while, so that checking for eligibility stays cheap
// and an unreachable API costs one short wait and no error.
import type { z } from 'zod';
import type { machine } from '../../contract/machines.ts';
import type { Clock } from '../../core/clock.ts';
import type { MachineConfig } from './machine-facts.ts';

const KEEP_MS = 10_000;

export interface MachineRecord {
  /** Undefined when the API is not configured or did not answer. */
  read(): Promise<MachineConfig | undefined>;
}

export function createMachineRecord(
  clock: Clock,
  fetch: () => Promise<z.infer<typeof machine> | undefined>,
): MachineRecord {
  let kept: { readonly value: Promise<MachineConfig | undefined>; readonly at_ms: number } | undefined;
  return {
    read() {
      if (kept === undefined || clock.mono_ms() - kept.at_ms > KEEP_MS) {
        kept = { value: fetch().then(toConfig, () => undefined), at_ms: clock.mono_ms() };
      }
      return kept.value;
    },
  };
}

function toConfig(record: z.infer<typeof machine> | undefined): MachineConfig | undefined {
  if (record === undefined) return undefined;
  const { config, updated_at } = record;
  const memory_mb = config?.guest?.memory_mb;
  return {
    ...(memory_mb === undefined ? {} : { memory_mb }),
    ...(updated_at === undefined ? {} : { updated_at }),
    schedule: config?.schedule ?? null,
    sharedKernel: config?.driver === 'process',
  };
}
