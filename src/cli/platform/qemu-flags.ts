// The flags of what runs the machines: processes of this host, or virtual machines.
import { totalmem } from 'node:os';
import type { QemuSettings } from '../../platform/machines/drivers/qemu/qemu-settings.ts';
import type { Flag } from '../command.ts';
import { UsageError } from '../exit-code.ts';
import { parseWhole } from '../number-flag.ts';

const MB = 1024 * 1024;
const DRIVERS = ['process', 'qemu'];
/** The host itself keeps a tenth of its memory, and at least this much. */
const LEAST_RESERVE_MB = 1_024;
const MEMORY_MAX_MB = 16 * 1024 * 1024;

export const qemuFlags: Readonly<Record<string, Flag>> = {
  driver: {
    type: 'string',
    value: 'NAME',
    summary: 'what runs machines: process (processes of this host, for development) or qemu (virtual machines)',
  },
  'qemu-image': {
    type: 'string',
    value: 'NAME',
    summary: 'image of machines that name none (the only one there is, or default)',
  },
  'qemu-accel': {
    type: 'string',
    value: 'tcg|kvm',
    summary: 'by software, or by the processor through /dev/kvm (tcg)',
  },
  'host-memory': {
    type: 'string',
    value: 'MB',
    summary: 'memory of all virtual machines together, suspended ones too (all but a tenth, and but 1 GB)',
  },
  'qemu-network': {
    type: 'string',
    value: 'none|egress',
    summary: 'what virtual machines reach besides the platform: nothing, or the public internet (none)',
  },
};

/** Undefined for processes. Throws UsageError for an unknown driver, and for flags of virtual machines without them. */
export function readQemuFlags(text: (name: string) => string | undefined): QemuSettings | undefined {
  const driver = text('driver') ?? 'process';
  if (!DRIVERS.includes(driver)) throw new UsageError(`--driver takes ${DRIVERS.join(' or ')}, not ${driver}`);
  if (driver === 'process') {
    const given = Object.keys(qemuFlags).find((name) => name !== 'driver' && text(name) !== undefined);
    if (given !== undefined) throw new UsageError(`--${given} belongs to --driver qemu`);
    return undefined;
  }
  const accel = text('qemu-accel') ?? 'tcg';
  if (accel !== 'tcg' && accel !== 'kvm') throw new UsageError(`--qemu-accel takes tcg or kvm, not ${accel}`);
  const network = text('qemu-network') ?? 'none';
  if (network !== 'none' && network !== 'egress') {
    throw new UsageError(`--qemu-network takes none or egress, not ${network}`);
  }
  const image = text('qemu-image');
  const total_mb = Math.floor(totalmem() / MB);
  const usual_mb = Math.max(0, total_mb - Math.max(LEAST_RESERVE_MB, Math.ceil(total_mb / 10)));
  const hostMemory_mb = parseWhole('host-memory', text('host-memory'), usual_mb, 1, MEMORY_MAX_MB);
  return { accel, hostMemory_mb, network, ...(image === undefined ? {} : { image }) };
}
