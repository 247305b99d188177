// Whether programs of two copies of this machine may draw the same random numbers after a restore. The agent's own draws differ.
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { isBareMetal } from '../../linux/kernel/kernel-text.ts';

/** Kernels register the driver on one of these buses. A driver without a device reseeds nothing. */
const DRIVERS = ['bus/acpi/drivers/vmgenid', 'bus/platform/drivers/vmgenid'];
/** Entries of a driver's directory that are not devices. */
const CONTROLS = new Set(['bind', 'unbind', 'uevent', 'module']);

const SHARED =
  'rng: this kernel does not take new random numbers after a restore, so programs of two copies of this machine may draw the same ones for up to a minute (the agent does not); enable remora-reseed.path';

export interface SharedRandomnessOptions {
  /** The generation file. The systemd unit that reseeds the kernel leaves its mark beside it. */
  readonly generationFile: string;
  readonly procRoot?: string;
  readonly sysRoot?: string;
}

/** Text for the blind spots of the status; undefined when the machine cannot be restored, or the kernel or the unit reseeds. */
export function findSharedRandomness(options: SharedRandomnessOptions, generation: number): string | undefined {
  const { procRoot = '/proc', sysRoot = '/sys' } = options;
  if (isBareMetal(readText(join(procRoot, 'cpuinfo')))) return undefined;
  if (DRIVERS.some((driver) => hasDevice(join(sysRoot, driver)))) return undefined;
  const mark = readText(join(dirname(options.generationFile), 'reseeded'));
  return mark === `${generation}\n` ? undefined : SHARED;
}

function hasDevice(driver: string): boolean {
  try {
    return readdirSync(driver).some((name) => !CONTROLS.has(name));
  } catch {
    return false;
  }
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'latin1');
  } catch {
    return '';
  }
}
